"""Python values to JSON values: the one encoder that text blocks and structured content share.

Knows the standard library's types, dataclasses and pydantic models; `register_encoder` teaches it
more. It never guesses: a type that nobody taught it is refused by name, so that no object leaks
through its `repr`.
"""

import base64
import dataclasses
import datetime
import decimal
import functools
import json
import math
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Final, TypeVar

import orjson
import pydantic_core

from mcp_app.catalog.errors import Unencodable
from mcp_app.protocol.content import well_formed

T = TypeVar("T")
Encoder = Callable[[Any], Any]

_PLAIN: Final = frozenset({int, bool, type(None)})
_STRICT: Final = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
"""What orjson writes with these, it writes as the encoder does; all else it refuses."""


def encode(value: Any) -> Any:
    """The JSON value (dict, list, str, number, bool, None) that stands for `value`.

    Raises:
        Unencodable: something in it has no JSON form, or it is nested too deeply.
    """
    if type(value) in (dict, list):
        try:
            return orjson.loads(orjson.dumps(value, option=_STRICT))
        except TypeError:
            pass  # what is not plain takes the slow way
    try:
        return _encode(value)
    except RecursionError:
        raise Unencodable(type(value).__name__, "is nested too deeply") from None


def register_encoder(kind: type[T], function: Callable[[T], Any]) -> None:
    """Encode values of `kind`, and of its subclasses, by encoding what `function` returns.

    Raises:
        TypeError: an Enum, a UUID or a type of JSON's own, which always read as they are.
    """
    if kind in _FIXED or issubclass(kind, Enum | uuid.UUID):
        raise TypeError(f"{kind.__name__} has a JSON form of its own")
    _registered[kind] = function
    _known.clear()


def converter(kind: type) -> Encoder | None:
    """What was registered for `kind` or the nearest of its bases, None where nothing was."""
    return next((_registered[base] for base in kind.__mro__ if base in _registered), None)


def json_text(value: Any) -> str:
    """A JSON value as compact JSON text. Integers have any size."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _encode(value: Any) -> Any:
    kind = type(value)
    return (_known.get(kind) or _encoder_for(kind))(value)


def _encoder_for(kind: type) -> Encoder:
    convert = converter(kind)
    if convert is None:
        encoder = _built_in(kind) or _refuse
    else:
        encoder = functools.partial(_converted, convert)
    _known[kind] = encoder
    return encoder


def _converted(convert: Encoder, value: Any) -> Any:
    return _encode(convert(value))


def _built_in(kind: type) -> Encoder | None:
    if issubclass(kind, Enum):  # before str and int, which members often are as well
        return _enum
    if hasattr(kind, "__pydantic_serializer__"):
        return _pydantic
    if dataclasses.is_dataclass(kind):
        return _dataclass
    return next((_BUILT_IN[base] for base in kind.__mro__ if base in _BUILT_IN), None)


def _refuse(value: Any) -> Any:
    raise Unencodable(type(value).__name__)


def _str(value: str) -> str:
    return well_formed(str.__str__(value))  # a plain str, whatever the subclass


def _float(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _enum(value: Enum) -> Any:
    return _encode(value.value)


def _datetime(value: datetime.datetime) -> str:
    # As pydantic writes it, so that a tool reads the same with and without an annotation.
    text = value.isoformat()
    return f"{text[:-6]}Z" if text.endswith("+00:00") else text


def _timedelta(value: datetime.timedelta) -> Any:
    return pydantic_core.to_jsonable_python(value, timedelta_mode="iso8601")


def base64_text(value: bytes | bytearray | memoryview) -> str:
    """Standard base64, padded."""
    return base64.b64encode(value).decode("ascii")


def _list(value: Iterable[Any]) -> list[Any]:
    return [item if type(item) in _PLAIN else _encode(item) for item in value]


def _set(value: Iterable[Any]) -> list[Any]:
    return in_order(_list(value))


def in_order(items: list[Any]) -> list[Any]:
    """JSON values in an order of their own, the same in every process."""
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def _mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    encoded = {
        key if type(key) is str and key.isascii() else _key(key): (
            item if type(item) in _PLAIN else _encode(item)
        )
        for key, item in value.items()
    }
    if len(encoded) != len(value):
        raise Unencodable(type(value).__name__, "two of its keys are the same in JSON")
    return encoded


def _key(key: Any) -> str:
    encoded = _encode(key)
    if isinstance(encoded, str):
        return encoded
    if encoded is None or isinstance(encoded, bool | int | float):
        return json.dumps(encoded)
    raise Unencodable(type(key).__name__, "cannot be a key in JSON")


def _dataclass(value: Any) -> dict[str, Any]:
    return {field.name: _encode(getattr(value, field.name)) for field in dataclasses.fields(value)}


def _pydantic(value: Any) -> Any:
    serializer: pydantic_core.SchemaSerializer = type(value).__pydantic_serializer__
    try:
        dumped = serializer.to_python(value, mode="json", by_alias=True, warnings="error")
    except (pydantic_core.PydanticSerializationError, UnicodeDecodeError):
        raise Unencodable(type(value).__name__) from None
    return _encode(dumped)


_BUILT_IN: Final[Mapping[type, Encoder]] = {
    str: _str,
    bool: bool,
    int: int,
    float: _float,
    type(None): lambda value: None,
    dict: _mapping,
    Mapping: _mapping,
    list: _list,
    tuple: _list,
    deque: _list,
    set: _set,
    frozenset: _set,
    decimal.Decimal: str,
    uuid.UUID: str,
    datetime.datetime: _datetime,
    datetime.date: datetime.date.isoformat,
    datetime.time: datetime.time.isoformat,
    datetime.timedelta: _timedelta,
    bytes: base64_text,
    bytearray: base64_text,
    memoryview: base64_text,
}
_FIXED: Final = frozenset({str, int, float, bool, type(None), dict, list, tuple})
_registered: Final[dict[type, Encoder]] = {}
_known: Final[dict[type, Encoder]] = {}
