"""Calls of a model's tools: each sees the rows that are its caller's, and no other."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from django.core.exceptions import PermissionDenied
from django.db import router, transaction
from django.http import Http404
from rest_framework.exceptions import APIException

from mcp_app.access.permissions import classes_of
from mcp_app.access.view import DeclaredView
from mcp_app.catalog.definition import Tool
from mcp_app.catalog.encoding import encode
from mcp_app.catalog.errors import ArgumentsInvalid, NotFound, ToolError
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
        found = self._plan.query.rows(self._read(ctx), asked)
        count, rows = queries.fetched(found, offset, limit)
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
        # A join may find the same row twice.
        row = next(iter(rows[:1]), None)
        if row is None or not self._admits(ctx, row):
            assert self._plan.lookup is not None, "only rows that are named are looked for"
            raise NotFound(f"There is no {self._plan.noun} of this {self._plan.lookup.path}.")
        return row

    def _admits(self, ctx: Any, row: Any) -> bool:
        """Whether every permission class of the tool admits the caller to this row."""
        view: Any = DeclaredView(self.tool, ctx.request)
        try:
            classes = classes_of(self.tool)
            return all(cls().has_object_permission(ctx.request, view, row) for cls in classes)
        except (APIException, Http404, PermissionDenied):
            return False

    def _locked(self, ctx: Any, sent: Mapping[str, Any]) -> Any:
        """The row with all its columns, which nobody else changes meanwhile. Raises NotFound."""
        key, using = self._key(ctx, sent), self._using()
        base = self._plan.model._base_manager.using(using).select_for_update().filter(**key)
        row = next(iter(base[:1]), None)
        visible = self._visible(ctx).using(using).filter(**key)
        if row is None or not visible.exists():
            return self._found(ctx, visible.none())
        return row if self._admits(ctx, row) else self._found(ctx, visible.none())

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
        if seen is None or not self._admits(ctx, seen):
            raise ToolError(_OUT_OF_SIGHT.format(self._plan.noun))
        return self._shown(ctx, seen)

    def _narrow(self, ctx: Any) -> Any:
        return partial(self._hooks.get_related, ctx)

    def _using(self) -> str:
        return router.db_for_write(self._plan.model)

    def _shown(self, ctx: Any, rows: Any, *, many: bool = False) -> Any:
        return encode(self._plan.shown(rows, many=many, context=context_of(ctx)).data)
