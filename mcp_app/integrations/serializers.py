"""DRF's serializers as the `input=` and `output=` of a tool.

The schema is of our own making, from the fields. drf-spectacular was read for it, and writes for
another reader: OpenAPI of a view, with components by reference, read-only fields in what is sent
unless a setting of the project's says otherwise, and nothing that would hold a call to it.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

from rest_framework.exceptions import ValidationError
from rest_framework.serializers import BaseSerializer, ListSerializer, Serializer

from mcp_app.catalog.encoding import encode
from mcp_app.catalog.foreign import DATA, register_shapes
from mcp_app.catalog.problems import Problem, Refused
from mcp_app.catalog.signature import Parameter
from mcp_app.integrations import given, taken
from mcp_app.integrations.refusals import refusal

_HINT: Final = "Correct the serializer; it is made without a request here, as no call is there yet."


def register() -> None:
    """Teach the catalogue what a serializer is."""
    register_shapes(_input, _output)


def made(declared: Any, **also: Any) -> Any:
    """A serializer as it was declared, by its class or by an instance, with more keywords."""
    if isinstance(declared, type):
        return declared(**also)
    # What an instance was made with, DRF keeps to make further ones.
    kwargs = {**declared._kwargs, **also}
    if "child" in kwargs:
        kwargs["child"] = deepcopy(kwargs["child"])
    return type(declared)(*declared._args, **kwargs)


class SerializerInput:
    """What a serializer takes: its fields are the arguments, of a list of them `data` is."""

    def __init__(self, declared: Any) -> None:
        """Raises Refused where that cannot be told."""
        self._declared = declared
        sample = made(declared)
        self._many = isinstance(sample, ListSerializer)
        self.parameters = described(lambda: parameters_of(sample))
        """The arguments."""

    def read(self, context: Any, arguments: Mapping[str, Any]) -> Any:
        """The validated data, of a serializer whose context has DRF's request.

        Raises:
            ArgumentsInvalid: naming each field that the serializer does not take.
        """
        sent = arguments[DATA] if self._many else dict(arguments)
        serializer = made(self._declared, data=sent, context=context_of(context))
        return validated(serializer, lambda detail: {DATA: detail} if self._many else detail)


class SerializerOutput:
    """What a serializer shows."""

    def __init__(self, declared: Any) -> None:
        """Raises Refused where that cannot be told."""
        self._declared = declared
        self.annotation = described(lambda: given.annotation(made(declared)))
        """The type of what `write` gives."""

    def write(self, context: Any, value: Any) -> Any:
        """What the function returned, serialized; None stays so."""
        if value is None:
            return None
        return encode(made(self._declared, instance=value, context=context_of(context)).data)


def parameters_of(serializer: Any) -> tuple[Parameter, ...]:
    """The arguments that a serializer takes. Raises Refused."""
    if isinstance(serializer, ListSerializer):
        return (Parameter(DATA, taken.annotation(serializer)),)
    if not isinstance(serializer, Serializer):
        raise Refused(
            Problem.INPUT,
            f"{type(serializer).__name__} has no fields that could be arguments",
            "Give a Serializer.",
        )
    found = taken.properties(serializer, partial=serializer.partial)
    return tuple(Parameter(name, annotation) for name, annotation in found.items())


def validated(serializer: Any, place: Callable[[Any], Any] = lambda detail: detail) -> Any:
    """What a serializer makes of its data; `place` says where they stand among the arguments.

    Raises:
        ArgumentsInvalid: naming each field that it does not take.
    """
    try:
        serializer.is_valid(raise_exception=True)
    except ValidationError as error:
        raise refusal(place(error.detail)) from None
    return serializer.validated_data


def context_of(context: Any) -> dict[str, Any]:
    """What a view hands its serializers, as far as there is one."""
    return {"request": context.request, "format": None}


def described(describe: Callable[[], Any]) -> Any:
    """What `describe` says of a serializer, whose own code may fail. Raises Refused."""
    try:
        return describe()
    except Refused:
        raise
    except Exception as error:
        told = f"its serializer cannot be described ({type(error).__name__}: {error})"
        raise Refused(Problem.INPUT, told, _HINT) from None


def _input(declared: Any) -> SerializerInput | None:
    return SerializerInput(declared) if _is_serializer(declared) else None


def _output(declared: Any) -> SerializerOutput | None:
    return SerializerOutput(declared) if _is_serializer(declared) else None


def _is_serializer(declared: Any) -> bool:
    if isinstance(declared, type):
        return issubclass(declared, BaseSerializer)
    return isinstance(declared, BaseSerializer)
