"""JSON-RPC 2.0 messages from bytes and to bytes. Knows no method and no era.

`orjson` is the fast path; where it refuses, or would turn a long integer into a float, the
standard library decides, so that one grammar holds whatever the body: RFC 8259, without the NaN
and Infinity that Python would add.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NoReturn, TypeGuard

import orjson

from mcp_app.protocol.errors import InvalidParams, InvalidRequest, ParseError, ProtocolError

RequestId = str | int
LONGEST_ID: Final = 4096
"""Characters of an id, which each message about its request repeats."""
ID_IN_WORDS: Final = f"an integer, or a string of at most {LONGEST_ID} characters"

_LONG_INTEGER: Final = re.compile(rb"[0-9]{19}")
_DEEPEST: Final = 1024
"""Arrays and objects in each other; orjson's own limit, where the standard library's varies."""
DEEPEST_KEPT: Final = 100
"""The same in what is kept, sealed or told to other processes, which encodes it by other means:
forms are flat, and neither capabilities nor what a model says is much deeper.
"""
MOST_VALUES: Final = 200_000
"""Values in one body, by default: of two bytes there each may take a hundred once it is read."""
_STRUCTURE: Final = (b",", b"[", b"{")
_TOKEN: Final = re.compile(rb'"[^"]*"?|[,\[{]')


@dataclass(frozen=True, slots=True)
class Request:
    """A call that wants an answer. `params` is an object, or None where it was absent or null."""

    id: RequestId
    method: str
    params: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that must not be answered."""

    method: str
    params: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """An answer from the client to a request of the server's (2025-11-25 and earlier)."""

    id: RequestId
    result: Any = None
    error: Any = None


@dataclass(frozen=True, slots=True)
class Malformed:
    """A message that is refused, with the id it is answered under where one could be read."""

    error: ProtocolError
    id: RequestId | None = None


Message = Request | Notification | Response | Malformed


@dataclass(frozen=True, slots=True)
class Batch:
    """Several messages in one body (2025-03-26 alone)."""

    messages: tuple[Message, ...] = field(default=())


def loads(body: bytes) -> Any:
    """The JSON value that `body` holds.

    Raises:
        ParseError: not UTF-8, not JSON, nested beyond reason, or with NaN or Infinity.
    """
    if not _LONG_INTEGER.search(body):
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            pass
    try:
        text = body.decode("utf-8-sig")
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ParseError("The body is not valid JSON.") from error
    if is_deeper(value, _DEEPEST):
        raise ParseError("The body is nested beyond reason.")
    return value


def holds_more(body: bytes, most: int) -> bool:
    """Whether JSON holds more than `most` values, before any is made; an array, or an object, that
    stands in another counts as two.
    """
    if len(body) <= most or sum(map(body.count, _STRUCTURE)) <= most:
        return False
    # What stands in strings counts for nothing, and a value has no more than three tokens.
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    tokens = islice(_TOKEN.finditer(plain), 3 * most + 3)
    return sum(not token[0].startswith(b'"') for token in tokens) > most


def is_deeper(value: Any, limit: int) -> bool:
    """Whether arrays and objects stand in each other more than `limit` deep."""
    level = [value]
    for _ in range(limit + 1):
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return False
        level = [
            child for item in level for child in (item.values() if isinstance(item, dict) else item)
        ]
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number is out of range")
    return number


def dumps(value: Any) -> bytes:
    """`value` as compact JSON. Integers of any size and lone surrogates survive."""
    try:
        return orjson.dumps(value)
    except TypeError:
        text = json.dumps(_without_fragments(value), separators=(",", ":"), allow_nan=False)
        return text.encode("ascii")


def _without_fragments(value: Any) -> Any:
    if isinstance(value, orjson.Fragment):
        return json.loads(orjson.dumps(value))
    if isinstance(value, Mapping):
        return {key: _without_fragments(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_fragments(item) for item in value]
    return value


def parse(body: bytes, *, most: int, values: int = MOST_VALUES) -> Message | Batch:
    """The message or batch in `body`; what is wrong with it is a value, too, never raised.

    A batch of more than `most` messages is not looked into, nor a body of more than `values`.
    """
    if holds_more(body, values):
        return Malformed(InvalidRequest(f"A body may hold at most {values} values."))
    try:
        value = loads(body)
    except ParseError as error:
        return Malformed(error)
    if isinstance(value, list):
        if not value:
            return Malformed(InvalidRequest("A batch must hold at least one message."))
        if len(value) > most:
            return Malformed(InvalidRequest(f"A batch may hold at most {most} messages."))
        return Batch(tuple(from_value(item) for item in value))
    return from_value(value)


def from_value(value: Any) -> Message:
    """One message from its JSON value."""
    if not isinstance(value, dict):
        return Malformed(InvalidRequest("A message must be a JSON object."))
    request_id = value.get("id")
    known_id = request_id if is_request_id(request_id) else None
    if "id" in value and known_id is None:
        return Malformed(InvalidRequest(f"The id must be {ID_IN_WORDS}."))
    if value.get("jsonrpc") != "2.0":
        return Malformed(InvalidRequest('The member "jsonrpc" must be "2.0".'), known_id)
    if "method" not in value:
        return _response(value, known_id)
    return _call(value, known_id)


def _call(value: Mapping[str, Any], request_id: RequestId | None) -> Message:
    method = value["method"]
    if not isinstance(method, str):
        return Malformed(InvalidRequest("The method must be a string."), request_id)
    params = value.get("params")
    if params is not None and not isinstance(params, dict):
        # Nobody waits for the answer to a notification: only an HTTP status can refuse it.
        kind = InvalidRequest if request_id is None else InvalidParams
        return Malformed(kind("The params must be an object."), request_id)
    if request_id is None:
        return Notification(method, params)
    return Request(request_id, method, params)


def _response(value: Mapping[str, Any], request_id: RequestId | None) -> Message:
    if request_id is None or ("result" in value) == ("error" in value):
        return Malformed(InvalidRequest("The message has no method."), request_id)
    return Response(request_id, value.get("result"), value.get("error"))


def is_request_id(value: Any) -> TypeGuard[RequestId]:
    """Whether `value` may identify a request: a string or an integer, which true is not."""
    if isinstance(value, str):
        return len(value) <= LONGEST_ID
    return isinstance(value, int) and not isinstance(value, bool)


def result_response(request_id: RequestId, result: Any) -> dict[str, Any]:
    """A successful answer."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def notification(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """A message from the server that wants no answer."""
    return {"jsonrpc": "2.0", "method": method, "params": params}
