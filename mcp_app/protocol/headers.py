"""The request headers that mirror the body: their names, their value codec, and agreement.

`2026-07-28 basic/transports/streamable-http` Request Metadata. Header names are lower case here.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final

PROTOCOL_VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
SESSION_ID: Final = "mcp-session-id"
LAST_EVENT_ID: Final = "last-event-id"

NAME_SOURCE: Final[Mapping[str, str]] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
}
"""Which member of `params` each method mirrors in `Mcp-Name`."""

_PREFIX: Final = "=?base64?"
_SUFFIX: Final = "?="
_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")


class BadHeaderValue(ValueError):
    """A header value that no conforming client sends."""


def encode_value(value: str) -> str:
    """`value` as a header value, in base64 where plain ASCII could not carry it unchanged."""
    plain = _VALUE.fullmatch(value) and value == value.strip(" \t")
    if plain and not (value.startswith(_PREFIX) and value.endswith(_SUFFIX)):
        return value
    return f"{_PREFIX}{base64.b64encode(value.encode()).decode('ascii')}{_SUFFIX}"


def decode_value(value: str) -> str:
    """The text that a header value stands for.

    Raises:
        BadHeaderValue: characters that a field value may not hold, or a base64 marker around
            something that is not canonical base64 of UTF-8.
    """
    value = value.strip(" \t")
    if not _VALUE.fullmatch(value):
        raise BadHeaderValue("the header value holds characters that are not allowed")
    if not (value.startswith(_PREFIX) and value.endswith(_SUFFIX)):
        return value
    payload = value[len(_PREFIX) : -len(_SUFFIX)]
    try:
        raw = base64.b64decode(payload, validate=True)
        text = raw.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise BadHeaderValue("the header value is not valid base64 of UTF-8") from error
    if base64.b64encode(raw).decode("ascii") != payload:
        raise BadHeaderValue("the header value is not canonical base64")
    return text


def agrees(value: Any, header: str) -> bool:
    """Whether a decoded header says the same as an argument. Integers compare as numbers.

    Booleans are `true` and `false`; anything but a string, an integer or a boolean never agrees.
    """
    if isinstance(value, bool):
        return header == ("true" if value else "false")
    if isinstance(value, str):
        return header == value
    if isinstance(value, int | float):
        return _same_number(value, header)
    return False


def _same_number(value: int | float, header: str) -> bool:
    if not re.fullmatch(r"-?[0-9]{1,400}(\.[0-9]{1,400})?", header):
        return False
    whole, _, fraction = header.partition(".")
    if fraction.strip("0"):
        return isinstance(value, float) and value == float(header)
    return value == int(whole)
