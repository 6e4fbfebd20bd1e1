"""Arguments that clients mirror into headers: `2026-07-28 server/tools` x-mcp-header."""

import re
from collections.abc import Iterator
from typing import Final

from mcp_app.catalog.problems import Problem, Refused
from mcp_app.catalog.schemas import Schema, children

KEYWORD: Final = "x-mcp-header"

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PRIMITIVE: Final = ("string", "integer", "boolean")

Path = tuple[str, ...]


def mirrored(schema: Schema, sensitive: frozenset[str]) -> dict[Path, str]:
    """The path of each mirrored argument with the name that follows `Mcp-Param-`.

    Raises:
        Refused: a client would have to reject the tool, or a secret would stand in a header.
    """
    headers: dict[Path, str] = {}
    for path, found in _annotated(schema, ()):
        header = _checked(path, found)
        assert path is not None
        if path[0] in sensitive:
            raise _refused(path, "is sensitive, and headers are visible on the way")
        if header.lower() in (known.lower() for known in headers.values()):
            raise _refused(path, f"shares the header {header!r} with another parameter")
        headers[path] = header
    return headers


def without_null(schema: Schema) -> Schema:
    """A mirrored Optional property as the primitive alone.

    Clients refuse the keyword beside `anyOf`; a null argument is accepted all the same.
    """
    options = [o for o in schema.get("anyOf", ()) if o != {"type": "null"}]
    if KEYWORD not in schema or len(options) != 1 or "$ref" in options[0]:
        return schema
    plain: Schema = {
        k: v for k, v in schema.items() if k != "anyOf" and (k, v) != ("default", None)
    }
    return {**options[0], **plain}


def _annotated(schema: Schema, path: Path | None) -> Iterator[tuple[Path | None, Schema]]:
    """Each annotated subschema; its path is None where it is not statically reachable."""
    if KEYWORD in schema:
        yield path or None, schema
    for keyword, name, child in children(schema):
        if path is None or name is None or keyword != "properties":
            yield from _annotated(child, None)
        else:
            yield from _annotated(child, (*path, name))


def _checked(path: Path | None, schema: Schema) -> str:
    header = schema[KEYWORD]
    if path is None:
        raise Refused(
            Problem.MIRRORED,
            f"{KEYWORD} {header!r} stands where clients cannot reach it",
            "Put it on a parameter, or on a property of an object: not in lists or unions.",
        )
    if not isinstance(header, str) or not _TOKEN.fullmatch(header):
        raise _refused(path, f"has a {KEYWORD} that is not a header name: {header!r}")
    if schema.get("type") not in _PRIMITIVE:
        raise _refused(path, f"has {KEYWORD} but is not a string, an integer or a boolean")
    return header


def _refused(path: Path, told: str) -> Refused:
    name = ".".join(path)
    return Refused(
        Problem.MIRRORED,
        f"the parameter {name!r} {told}",
        f"Correct or remove its {KEYWORD}.",
    )
