"""Calls of a model's tools: each sees the rows that are its caller's, and no other."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from django.db import router, transaction

from mcp_app.catalog.definition import Tool
from mcp_app.catalog.encoding import encode
from mcp_app.catalog.errors import ArgumentsInvalid, ToolError
from mcp_app.integrations.found import admits, found
from mcp_app.integrations.serializers import context_of, validated
from mcp_app.integrations.tables import queries, writing
from mcp_app.integrations.tables.plan import Plan

_OUT_OF_SIGHT: Final = "You could not see the {} then, so nothing was written."


class Rows:
    """Runs one tool. `hooks` are the methods of the declaration; `tool` is set once it is made."""

    tool: Tool

    def __init__(self, plan: Plan, hooks: Any) -> None:
        self._plan, self._hooks = plan, hooks

    def list(self, ctx: Any, sent: Mapping[str, Any]) -> Any:
        """A page of the rows that fit."""
        asked = validated(self._plan.asked(data=dict(sent), context=context_of(ctx)))
        limit, offset = asked["limit"], asked["offset"]
        fitting = self._plan.query.rows(self._read(ctx), asked)
        count, rows = queries.fetched(fitting, offset, limit)
        following, before = offset + limit, max(offset - limit, 0)
        goes_on = following < count and following <= queries.FURTHEST
        return {
            "count": count,
            "next": {**sent, "offset": following} if goes_on else None,
            "previous": {**sent, "offset": before} if offset else None,
            "results": self._shown(ctx, rows, many=True),
        }

    def get(self, ctx: Any, sent: Mapping[str, Any]) -> Any:
        """One row."""
        return self._shown(ctx, self._found(ctx, self._read(ctx).filter(**self._key(ctx, sent))))

    def create(self, ctx: Any, sent: Mapping[str, Any]) -> Any:
        """A new row."""
        with transaction.atomic(using=self._using()):
            values = writing.read(self._plan.written, ctx, sent, self._narrow(ctx))
            return self._stored(ctx, self._plan.model(), values)

    def update(self, ctx: Any, sent: Mapping[str, Any]) -> Any:
        """The row, changed."""
        changes = dict(sent)
        key = {name: changes.pop(name) for name in self._plan.key().fields}
        if not changes:
            raise ArgumentsInvalid([("", "Give at least one field that is to change.")])
        with transaction.atomic(using=self._using()):
            row = self._locked(ctx, key)
            narrow, plan = self._narrow(ctx), self._plan
            values = writing.read(plan.written, ctx, changes, narrow, instance=row, partial=True)
            return self._stored(ctx, row, values)

    def delete(self, ctx: Any, sent: Mapping[str, Any]) -> Any:
        """Nothing is left of the row."""
        with transaction.atomic(using=self._using()):
            row = self._locked(ctx, sent)
            writing.remove(row, ctx.user, partial(self._hooks.delete, ctx, row))
        return "Deleted."

    def _visible(self, ctx: Any) -> Any:
        return self._hooks.get_queryset(ctx)

    def _read(self, ctx: Any) -> Any:
        """With the columns of the allow-list and no others, in one query."""
        return self._columns(self._visible(ctx))

    def _columns(self, queryset: Any) -> Any:
        bare = queryset.select_related(None)
        relations = self._plan.relations
        joined = bare.select_related(*relations) if relations else bare
        return joined.only(*self._plan.attributes)

    def _key(self, ctx: Any, sent: Mapping[str, Any]) -> dict[str, Any]:
        return dict(validated(self._plan.key(data=dict(sent), context=context_of(ctx))))

    def _found(self, ctx: Any, rows: Any) -> Any:
        """The one row that is left, where it is the caller's. Raises NotFound."""
        assert self._plan.lookup is not None, "only rows that are named are looked for"
        return found(self.tool, ctx, rows, self._plan.lookup.path)

    def _locked(self, ctx: Any, sent: Mapping[str, Any]) -> Any:
        """The row with all its columns, which nobody else changes meanwhile. Raises NotFound."""
        key, using = self._key(ctx, sent), self._using()
        base = self._plan.model._base_manager.using(using).select_for_update().filter(**key)
        row = next(iter(base[:1]), None)
        self._found(ctx, self._visible(ctx).using(using).filter(**key))
        assert row is not None, "what a caller sees is in the table"
        return row

    def _stored(self, ctx: Any, row: Any, values: Mapping[str, Any]) -> Any:
        before = {} if row._state.adding else writing.held(row)
        for name, value in values.items():
            setattr(row, name, value)
        self._hooks.prepare(ctx, row)
        after, using = writing.held(row), self._using()
        untouched = {name for name in before.keys() - values.keys() if before[name] == after[name]}
        writing.store(row, untouched, partial(self._hooks.save, ctx, row), using)
        stored = self._columns(self._visible(ctx).using(using)).filter(pk=row.pk)
        seen = next(iter(stored[:1]), None)
        if seen is None or not admits(self.tool, ctx, seen):
            raise ToolError(_OUT_OF_SIGHT.format(self._plan.noun))
        return self._shown(ctx, seen)

    def _narrow(self, ctx: Any) -> Any:
        return partial(self._hooks.get_related, ctx)

    def _using(self) -> str:
        return router.db_for_write(self._plan.model)

    def _shown(self, ctx: Any, rows: Any, *, many: bool = False) -> Any:
        return encode(self._plan.shown(rows, many=many, context=context_of(ctx)).data)
