"""The project's tests; never part of the wheel."""
