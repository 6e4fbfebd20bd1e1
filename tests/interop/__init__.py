"""Live servers of the example, and other people's clients that call its tools."""
