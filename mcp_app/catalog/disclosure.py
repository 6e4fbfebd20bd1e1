"""Which parts of a declaration's arguments a log may hold, read from the marks in their schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mcp_app.catalog.schemas import Schema, children, is_marked, referred


@dataclass(frozen=True, slots=True)
class Disclosure:
    """The names whose values may be kept. What is under any other name is kept by name alone."""

    open: frozenset[str] = frozenset()
    """Nothing below them is marked."""
    partial: frozenset[str] = frozenset()
    """Lists and objects that hold marked parts: `nested` says which of their names are open."""
    nested: Disclosure | None = None
    """The rules within `partial` values; None: these same ones."""

    @property
    def below(self) -> Disclosure:
        """The rules for what stands in a `partial` value."""
        return self.nested or self


NOTHING = Disclosure()
"""Of a target that does not exist, no value is kept."""


def disclosure_of(schema: Schema, secret: frozenset[str]) -> Disclosure:
    """What may be kept of arguments that fit `schema`; `secret` ones may not, whatever it says."""
    definitions: Schema = schema.get("$defs", {})
    marked = {name: found for name, found in schema["properties"].items() if name not in secret}
    top = _sorted_out(list(marked.items()), definitions)
    inner = [
        pair
        for name in top.partial
        for part in _parts(marked[name], definitions)
        for pair in part.get("properties", {}).items()
    ]
    return Disclosure(top.open, top.partial, _sorted_out(inner, definitions))


def _sorted_out(properties: list[tuple[str, Schema]], definitions: Schema) -> Disclosure:
    """A name that is marked in one place is marked in all of them."""
    kept: dict[str, set[str]] = {"open": set(), "partial": set(), "secret": set()}
    for name, schema in properties:
        kept[_kind(schema, definitions)].add(name)
    partial = kept["partial"] - kept["secret"]
    return Disclosure(frozenset(kept["open"] - partial - kept["secret"]), frozenset(partial))


def _kind(schema: Schema, definitions: Schema) -> str:
    if not any(map(is_marked, _parts(schema, definitions))):
        return "open"
    # A mark on the value itself, its items or a member of its union; not on a named part of it.
    own = _parts(schema, definitions, through_names=False)
    return "secret" if any(map(is_marked, own)) else "partial"


def _parts(schema: Schema, definitions: Schema, *, through_names: bool = True) -> Iterator[Schema]:
    """`schema` and every schema in it, each definition that it refers to once."""
    seen: set[str] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += [c for keyword, _, c in children(part) if through_names or keyword != _NAMES]
        name = referred(part)
        if name is not None and name not in seen:
            seen.add(name)
            waiting.append(definitions.get(name, {}))


_NAMES = "properties"
