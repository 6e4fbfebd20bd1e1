"""What is declared otherwise than by a function: shapes, such as DRF's serializers, and classes.

Who knows a library registers here what makes shapes of its declarations; the catalogue knows none.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from mcp_app.catalog.problems import Problem, Refused
from mcp_app.catalog.results import ToolResult
from mcp_app.catalog.signature import Kind, Parameter, Signature
from mcp_app.protocol.content import ContentBlock

DATA: Final = "data"
"""The parameter of a function that takes what a shape has read."""

CONTEXT: Final = "<context>"
"""The key under which a function that was made here takes its Context: no argument's name."""


class InputShape(Protocol):
    """What callers send."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The arguments."""
        ...

    def read(self, context: Any, arguments: Mapping[str, Any]) -> Any:
        """What the function gets of arguments that fit the parameters.

        Raises:
            ArgumentsInvalid: naming each field that the library does not take.
        """
        ...


class OutputShape(Protocol):
    """What callers are given."""

    @property
    def annotation(self) -> Any:
        """The type of what `write` gives."""
        ...

    def write(self, context: Any, value: Any) -> Any:
        """What stands for what the function returned."""
        ...


class ToolClass(Protocol):
    """A class that is a tool: each call has an instance of its own."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The keywords that the class states by itself."""
        ...

    @property
    def method(self) -> Callable[..., Any]:
        """What a call runs, for its signature to be read."""
        ...

    def start(self, context: Any) -> Callable[..., Any]:
        """The same of a call's own instance."""
        ...

    def settle(self, tool: Any) -> None:
        """Hear of the Tool that was made of it."""
        ...


InputMaker = Callable[[Any], InputShape | None]
OutputMaker = Callable[[Any], OutputShape | None]
ClassMaker = Callable[[type], ToolClass | None]

_inputs: Final[list[InputMaker]] = []
_outputs: Final[list[OutputMaker]] = []
_classes: Final[list[ClassMaker]] = []


def register_shapes(inputs: InputMaker, outputs: OutputMaker) -> None:
    """Ask these what an `input=` or `output=` is; they answer None for what they do not know.

    They raise Refused for what they know and cannot describe.
    """
    if inputs not in _inputs:
        _inputs.append(inputs)
        _outputs.append(outputs)


def register_class(make: ClassMaker) -> None:
    """Ask this what a class is that is declared as a tool; it answers None for others than its own.

    It raises Refused for those that lack something.
    """
    _classes.append(make)


def tool_class(declared: Any) -> ToolClass | None:
    """What a class is as a tool, None where it is a function or nothing known. Raises Refused."""
    if not isinstance(declared, type):
        return None
    return next(filter(None, (make(declared) for make in _classes)), None)


def input_shape(declared: Any) -> InputShape:
    """The shape of an `input=`. Raises Refused."""
    found = next(filter(None, (make(declared) for make in _inputs)), None)
    if found is None:
        raise Refused(
            Problem.INPUT,
            f"input cannot be {_told(declared)}",
            "Give a serializer class of DRF, or an instance of one; or annotate parameters.",
        )
    return found


def output_shape(declared: Any) -> OutputShape | None:
    """The shape of an `output=`, None where it is a type like any other. Raises Refused."""
    return next(filter(None, (make(declared) for make in _outputs)), None)


def arguments_of(signed: Signature, taken: InputShape | None) -> tuple[Parameter, ...]:
    """The shape's parameters, and those of the function beside `data`. Raises Refused."""
    own = signed.parameters
    sent = taken.parameters if taken is not None else ()
    twice = sorted({p.name for p in own} & {p.name for p in sent})
    if twice:
        raise Refused(
            Problem.SIGNATURE,
            f"the function and its input both have the argument {', '.join(twice)}",
            "Give the function's parameter another name.",
        )
    return (*own, *sent)


def joined(
    start: Callable[[Any], Callable[..., Any]],
    signed: Signature,
    taken: InputShape | None,
    given: OutputShape | None,
) -> Callable[..., Any]:
    """A function of bound arguments: it reads them, calls a function and writes what that returns.

    Args:
        start: gives the function that a call with this Context runs.

    Raises:
        Refused: that is async or a generator, and stands beside a shape; the libraries are sync.
    """
    if signed.kind is not Kind.SYNC and (taken is not None or given is not None):
        raise Refused(
            Problem.INPUT,
            "a serializer cannot stand between callers and an async function or a generator",
            "Write a plain function: serializers are sync code.",
        )
    names = _names(taken.parameters) if taken is not None else ()

    def run(**bound: Any) -> Any:
        context = bound.pop(CONTEXT)
        if signed.context_name is not None:
            bound[signed.context_name] = context
        if taken is not None:
            sent = {name: bound.pop(name) for name in names if name in bound}
            bound[DATA] = taken.read(context, sent)
        value = start(context)(**bound)
        return value if given is None or _is_spelled_out(value) else given.write(context, value)

    return run


def _names(parameters: Iterable[Parameter]) -> tuple[str, ...]:
    return tuple(parameter.name for parameter in parameters)


def _is_spelled_out(value: Any) -> bool:
    return isinstance(value, ToolResult | ContentBlock)


def _told(declared: Any) -> str:
    return declared.__qualname__ if isinstance(declared, type) else f"a {type(declared).__name__}"
