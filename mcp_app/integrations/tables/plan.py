"""What a declaration of tools over a model comes to, before any call."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import Any, Final

from mcp_app.catalog.signature import UNSTATED, Parameter
from mcp_app.integrations import given, querying
from mcp_app.integrations.serializers import described, parameters_of
from mcp_app.integrations.tables import queries, shapes, writing
from mcp_app.integrations.tables.allowed import Column, allowed, checked_model, listed, refused

READ: Final = ("list", "get")
TOOLS: Final = (*READ, "create", "update", "delete")
_OF_ONE: Final = ("get", "update", "delete")


class Plan:
    """The serializers, arguments and results of a model's tools.

    Attributes:
        model: whose rows they are of.
        tools: which are asked for.
        columns: what may be seen, by name.
        lookup: the column that callers name a row by; None where none has to be named.
    """

    def __init__(
        self,
        model: Any,
        *,
        fields: Any,
        tools: Any,
        writable: Any,
        sensitive: Any,
        lookup: str | None,
        is_filled: bool,
        **query: Any,
    ) -> None:
        """`is_filled` says that new rows get values of the product's own. Raises Refused."""
        self.model = checked_model(model)
        self.tools = _checked_tools(tools)
        self.columns = allowed(self.model, fields)
        if not self.columns:
            raise refused(
                "fields names no field", 'Write fields=["…"]: what is not named is hidden.'
            )
        self._written = allowed(self.model, writable, "writable")
        secret = self._secret(sensitive)
        self.lookup = self._lookup(lookup) if set(self.tools) & set(_OF_ONE) else None
        self.shown = shapes.shown(self.model, self.columns)
        self.query = queries.query_of(self.columns, secret, **query)
        self.asked = shapes.serializer(f"{self.model.__name__}Query", self.query.fields)
        self.key = shapes.serializer(f"{self.model.__name__}Key", self._key(secret))
        self.written = self._writing(secret, is_filled)

    @property
    def noun(self) -> str:
        """What a row is called."""
        return str(self.model._meta.verbose_name)

    @property
    def relations(self) -> list[str]:
        """What one query has to join, so that no row needs another."""
        ways = {column.relation for column in self.columns.values()}
        return sorted(way for way in ways if way)

    @property
    def attributes(self) -> list[str]:
        """The columns that are read at all."""
        return [column.attribute for column in self.columns.values()]

    def parameters(self, name: str) -> tuple[Parameter, ...]:
        """The arguments of a tool. Raises Refused."""
        makers: Mapping[str, list[Callable[[], Any]]] = {
            "list": [self.asked],
            "get": [self.key],
            "create": [self.written],
            "update": [self.key, lambda: self.written(partial=True)],
            "delete": [self.key],
        }
        taken = [described(partial(_taken, make)) for make in makers[name]]
        return tuple(chain.from_iterable(taken))

    def output(self, name: str) -> Any:
        """What a tool gives. Raises Refused."""
        if name == "delete":
            return UNSTATED
        item = described(lambda: given.row(self.shown()))
        return querying.page(item, count=int) if name == "list" else item

    def _secret(self, sensitive: Any) -> set[str]:
        """The columns whose values no log may hold: what is never shown is one of them."""
        named = listed(sensitive, "sensitive")
        known = {*self.columns, *self._written}
        if unknown := sorted(set(named) - known):
            raise refused(
                f"sensitive has {', '.join(unknown)}, which no tool names",
                "Name what fields or writable have.",
            )
        return {*named, *(self._written.keys() - self.columns.keys())}

    def _lookup(self, name: str | None) -> Column:
        asked = name or self.model._meta.pk.name
        found = self.columns.get(asked)
        if found is None:
            raise refused(
                f"rows are named by {asked!r}, which is not among fields",
                "Add it to fields, so that callers know it, or give another lookup.",
            )
        if found.relation or not found.field.unique:
            raise refused(f"several rows may have the same {asked!r}", "Give a unique lookup.")
        return found

    def _key(self, secret: set[str]) -> dict[str, Any]:
        if self.lookup is None:
            return {}
        path = self.lookup.path
        told = f"The {path} of the {self.noun}."
        field = shapes.value(self.lookup, write_only=path in secret, help_text=told)
        return {path: field}

    def _writing(self, secret: set[str], is_filled: bool) -> Any:
        writes = sorted(set(self.tools) & {"create", "update"})
        if bool(writes) is not bool(self._written):
            raise refused(
                f"{' and '.join(writes) or 'no tool'} can write {len(self._written)} fields",
                'Give writable=["…"] with tools that write, and with no other.',
            )
        if self.lookup is not None and "update" in writes and self.lookup.path in self._written:
            raise refused(
                f"writable has {self.lookup.path!r}, by which rows are named",
                "Give another lookup, or leave it out.",
            )
        missing = writing.unset(self.model, self._written) if "create" in writes else []
        if missing and not is_filled:
            raise refused(
                f"a new {self.noun} needs {', '.join(missing)}, which callers cannot give",
                "Add it to writable, or give it a value in a method prepare(ctx, row).",
            )
        return writing.written(self.model, self._written.values(), secret)


def _taken(make: Callable[[], Any]) -> tuple[Parameter, ...]:
    return parameters_of(make())


def _checked_tools(tools: Any) -> list[str]:
    named = listed(tools, "tools")
    unknown = [str(name) for name in named if name not in TOOLS]
    if unknown or not named:
        raise refused(
            f"there is no tool {', '.join(unknown)}" if unknown else "tools names none",
            f"The tools are {', '.join(TOOLS)}.",
        )
    return named
