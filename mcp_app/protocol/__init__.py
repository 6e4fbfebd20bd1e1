"""What the specification says, as values and pure functions: no Django, no I/O, no clock."""
