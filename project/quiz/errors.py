"""What the quiz's services raise; `mcp.py` turns each into a `ToolError`."""


class QuizError(Exception):
    """A sentence that the caller may read."""


class Missing(QuizError):
    """There is no such thing."""


class Refused(QuizError):
    """The thing is there, but this cannot be done with it."""
