"""Pages of a list that grows: where the next one begins is a signed (moment, id), not an offset."""

import datetime as dt
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.core.exceptions import ValidationError
from django.core.signing import BadSignature, Signer
from django.db.models import Model, Q, QuerySet

from project.quiz.errors import Refused

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Page(Generic[M]):
    """Some rows, newest first, and the cursor of those after them."""

    rows: list[M]
    next_cursor: str | None


@dataclass(frozen=True)
class Keyset:
    """The order of one list by `moment` and id, both falling; `name` keeps its cursors apart."""

    name: str
    moment: str

    def page(self, queryset: QuerySet[M], *, limit: int, cursor: str | None) -> Page[M]:
        """Return at most `limit` rows from the cursor on. Raises `Refused` for a bad cursor."""
        if cursor:
            queryset = queryset.filter(self._after(queryset, cursor))
        found = list(queryset.order_by(f"-{self.moment}", "-pk")[: limit + 1])
        rows = found[:limit]
        return Page(rows=rows, next_cursor=self._cursor(rows[-1]) if len(found) > limit else None)

    def _cursor(self, row: Model) -> str:
        return self._signer().sign_object([getattr(row, self.moment).isoformat(), str(row.pk)])

    def _after(self, queryset: QuerySet[M], cursor: str) -> Q:
        try:
            at, pk = self._signer().unsign_object(cursor)
            moment = dt.datetime.fromisoformat(at)
            key = queryset.model._meta.pk.to_python(pk)
        except (BadSignature, TypeError, ValueError, ValidationError) as error:
            raise Refused("This cursor is not valid; start again without one.") from error
        return Q(**{f"{self.moment}__lt": moment}) | Q(**{self.moment: moment, "pk__lt": key})

    def _signer(self) -> Signer:
        return Signer(salt=f"quiz.cursor.{self.name}")
