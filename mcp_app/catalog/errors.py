"""What goes wrong between a product's functions and their callers.

Registration problems are values elsewhere.
"""

from collections.abc import Sequence
from typing import Final

_SHOWN: Final = 20
"""Problems told in one message: a model corrects the first ones and tries again."""


class ToolError(Exception):
    """Raised by a tool: the model reads the message, word for word."""


class NotFound(ToolError):
    """Raised by a resource, a prompt or a tool: what was asked for does not exist."""


_missing: Final[set[type[BaseException]]] = {NotFound}


def register_missing(*kinds: type[BaseException]) -> None:
    """Read these exceptions as `NotFound`, too."""
    _missing.update(kinds)


def is_missing(error: BaseException) -> bool:
    """Whether an exception says that what was asked for does not exist."""
    return isinstance(error, tuple(_missing))


class ArgumentsInvalid(Exception):
    """The arguments do not fit the tool's parameters.

    `problems` holds a (field path, sentence) pair for each; no sentence echoes a value.
    """

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__(self._text())

    def _text(self) -> str:
        lines = [f"{path}: {told}" if path else told for path, told in self.problems[:_SHOWN]]
        left = len(self.problems) - len(lines)
        return "\n".join([*lines, f"and {left} more problems"] if left > 0 else lines)


class OutputInvalid(Exception):
    """A tool returned what its own output schema does not allow. For the log, not for the wire."""


class Unencodable(TypeError):
    """A value that has no JSON form. Says the type's name and never the value."""

    def __init__(self, type_name: str, reason: str | None = None) -> None:
        self.type_name = type_name
        super().__init__(f"{type_name}: {reason or 'has no JSON form'}")
