"""What a function's signature says: its parameters, its Context, its kind, what it returns."""

import inspect
import types
import typing
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
)
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Union, get_args, get_origin

from mcp_app.catalog.problems import Problem, Refused
from mcp_app.catalog.progress import Progress

UNSTATED: Final = inspect.Signature.empty
"""Stands for an annotation or a default that is not there."""


class ContextBase:
    """The class of what a function asks for by annotating a parameter with it: no argument."""


class Kind(Enum):
    """How a function is run."""

    SYNC = "sync"
    ASYNC = "async"
    GENERATOR = "generator"
    ASYNC_GENERATOR = "async generator"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter that a caller fills in."""

    name: str
    annotation: Any
    default: Any = UNSTATED


@dataclass(frozen=True, slots=True)
class Signature:
    """A function as far as a declaration needs it."""

    kind: Kind
    parameters: tuple[Parameter, ...]
    context_name: str | None
    returns: Any
    """The annotation of the result, UNSTATED where there is none."""


def read(function: Callable[..., Any], *, data: str | None = None) -> Signature:
    """The signature of `function`.

    Args:
        data: the parameter that takes what others make of arguments; it is none, and needs no
            annotation.

    Raises:
        Refused: it is no function, or callers could not fill in its parameters by name.
    """
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        raise Refused(
            Problem.SIGNATURE,
            f"it must be a function, not {type(function).__name__}",
            "Write a function that calls it.",
        )
    annotated = hints(function)
    parameters = list(inspect.signature(function).parameters.values())
    if data is not None:
        parameters.remove(_filled(data, parameters))
    for parameter in parameters:
        _check(parameter, annotated)
    contexts = [p.name for p in parameters if is_context(annotated[p.name])]
    if len(contexts) > 1:
        raise Refused(
            Problem.CONTEXT,
            f"two parameters are a Context: {', '.join(contexts)}",
            "Keep one of them.",
        )
    kind = _kind(function)
    return Signature(
        kind=kind,
        parameters=tuple(
            Parameter(p.name, annotated[p.name], p.default)
            for p in parameters
            if p.name not in contexts
        ),
        context_name=contexts[0] if contexts else None,
        returns=_returned(annotated.get("return", UNSTATED), kind),
    )


def _filled(name: str, parameters: list[inspect.Parameter]) -> inspect.Parameter:
    found = next((p for p in parameters if p.name == name), None)
    if found is None or found.kind not in (found.POSITIONAL_OR_KEYWORD, found.KEYWORD_ONLY):
        raise Refused(
            Problem.SIGNATURE,
            f"the function has no parameter {name!r} for what its input has validated",
            f"Write def f(ctx: Context, {name}), with other arguments beside it where needed.",
        )
    return found


def is_context(annotation: Any) -> bool:
    """Whether `annotation` is a Context class, or Optional of one."""
    bare = without_metadata(annotation)
    options = union_members(bare) or (bare,)
    named = [option for option in options if option is not types.NoneType]
    return bool(named) and all(isinstance(o, type) and issubclass(o, ContextBase) for o in named)


def without_metadata(annotation: Any) -> Any:
    """`annotation` without the `Annotated` around it."""
    if get_origin(annotation) is typing.Annotated:
        return get_args(annotation)[0]
    return annotation


def union_members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, none where it is something else."""
    if get_origin(annotation) in (Union, types.UnionType):
        return get_args(annotation)
    return ()


def hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations, resolved. Raises Refused where one cannot be."""
    try:
        return typing.get_type_hints(inspect.unwrap(function), include_extras=True)
    except NameError as error:
        raise Refused(
            Problem.ANNOTATION,
            f"the annotation {error.name!r} cannot be resolved",
            "Import it where the module can see it at run time, not under TYPE_CHECKING.",
        ) from None
    except Exception as error:
        raise Refused(
            Problem.ANNOTATION,
            f"an annotation cannot be resolved ({type(error).__name__}: {error})",
            "Correct the annotation.",
        ) from None


def _check(parameter: inspect.Parameter, annotated: dict[str, Any]) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise Refused(
            Problem.SIGNATURE,
            f"the parameter {parameter} takes any number of arguments",
            "Name each parameter, or take one dict or list.",
        )
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise Refused(
            Problem.SIGNATURE,
            f"the parameter {parameter.name!r} is positional-only",
            "Remove the `/`: arguments arrive by name.",
        )
    if parameter.name not in annotated:
        raise Refused(
            Problem.SIGNATURE,
            f"the parameter {parameter.name!r} has no annotation",
            "Annotate it: the annotation is what callers are told.",
        )


def _kind(function: Callable[..., Any]) -> Kind:
    if inspect.isasyncgenfunction(function):
        return Kind.ASYNC_GENERATOR
    if inspect.iscoroutinefunction(function):
        return Kind.ASYNC
    if inspect.isgeneratorfunction(function):
        return Kind.GENERATOR
    return Kind.SYNC


def _returned(annotation: Any, kind: Kind) -> Any:
    """The annotation of the result: of a generator, what it returns or yields beside progress."""
    if kind not in (Kind.GENERATOR, Kind.ASYNC_GENERATOR):
        return annotation
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Generator and len(parts) == _GENERATOR_PARTS and parts[2] is not types.NoneType:
        return parts[2]
    if origin in _YIELDING and parts:
        return _beside_progress(parts[0])
    return UNSTATED


_GENERATOR_PARTS: Final = 3
_YIELDING: Final = (
    Generator,
    Iterator,
    AsyncGenerator,
    AsyncIterator,
    Iterable,
    AsyncIterable,
)


def _beside_progress(yielded: Any) -> Any:
    members = union_members(yielded) or (yielded,)
    left = tuple(member for member in members if member is not Progress)
    return Union[left] if left else UNSTATED  # noqa: UP007 - built at run time
