"""The filters of the call log. They share one form, and none asks the table what there is."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from math import isfinite
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from mcp_app.audit.outcomes import NOT_OK, RESULTS, OutcomeGroup
from mcp_app.audit.periods import beginning, end, local
from mcp_app.audit.search import lookup_in, of_session, of_token, of_user
from mcp_app.catalog.registry import default_server
from mcp_app.models import CallDecision, CallEvent, CallOutcome

Rows = QuerySet[CallEvent]
Choices = list[tuple[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of the form.

    Attributes:
        kind: the `type` of the input, or "select".
        error: why its value cannot be read, or nothing. A browser shows no such value in a field of
            a day or a number, so the field is then one of text.
        choices: of a select, beside "any".
    """

    name: str
    label: Any
    value: str = ""
    kind: str = "text"
    placeholder: Any = ""
    choices: Choices | tuple[()] = ()
    error: Any = ""


class FormFilter(admin.ListFilter):
    """A filter whose values are fields of the form. `parameters` are their names.

    What cannot be read finds nothing, stays in its field, and is told beside it.
    """

    template = "admin/mcp_app/callevent/form_filter.html"
    parameters: ClassVar[tuple[str, ...]] = ()
    complaint: ClassVar[Any] = ""

    def __init__(
        self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any
    ) -> None:
        super().__init__(request, params, model, model_admin)
        for name in self.parameters:
            values = params.pop(name, None) or [""]
            if text := values[-1].replace("\0", "").strip():
                self.used_parameters[name] = text

    def value(self, name: str = "") -> str:
        """What stands in a field, or nothing."""
        return str(self.used_parameters.get(name or self.parameters[0], ""))

    def has_output(self) -> bool:
        """Always shown."""
        return True

    def expected_parameters(self) -> list[str | None]:
        """What it reads of the address."""
        return list(self.parameters)

    def choices(self, changelist: Any) -> Iterator[dict[str, Any]]:
        """For the template: once, the fields and the links that fill them in."""
        links = [
            {
                "title": title,
                "url": changelist.get_query_string({name: v or None for name, v in values.items()}),
                "current": all(self.value(name) == value for name, value in values.items()),
            }
            for title, values in self.shortcuts()
        ]
        yield {"fields": self.fields(), "links": links}

    def fields(self) -> list[Field]:
        """Override: the fields as they stand."""
        raise NotImplementedError

    def shortcuts(self) -> list[tuple[Any, dict[str, str]]]:
        """Links that fill the fields in: what they say, and the values by name."""
        return []

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        """Narrow to what the fields say."""
        if self.unread():
            return queryset.none()
        return self.narrowed(queryset) if self.used_parameters else queryset

    def unread(self) -> dict[str, Any]:
        """By field, why what stands in it cannot be read."""
        return {name: self.complaint for name, value in self._said() if not self._is_read(value)}

    def _said(self) -> Iterator[tuple[str, str]]:
        return ((str(name), str(value)) for name, value in self.used_parameters.items())

    def _is_read(self, value: str) -> bool:
        try:
            self.read(value)
        except ValueError:
            return False
        return True

    def read(self, value: str) -> Any:
        """Override: what a field's text means; ValueError where it means nothing."""
        return value

    def narrowed(self, rows: Rows) -> Rows:
        """Override: called where a field is filled in and each can be read."""
        raise NotImplementedError


class PeriodFilter(FormFilter):
    """Calls that arrived on the given days, the last one included; or from minute to minute."""

    title = _("when")
    parameters = ("since", "until")
    complaint = _("Not a day or moment: write 2026-11-30, or 2026-11-30T14:05.")

    def fields(self) -> list[Field]:
        """Two days, or two moments where a link to this page gave some."""
        return [self._field("since", _("From")), self._field("until", _("Until"))]

    def _field(self, name: str, label: Any) -> Field:
        value, error = self.value(name), self.unread().get(name)
        if error:
            return Field(name=name, label=label, value=value, error=error)
        kind = "datetime-local" if "T" in value else "date"
        return Field(name=name, label=label, value=value[: len("2026-11-30T14:05")], kind=kind)

    def read(self, value: str) -> Any:
        """A beginning and an end can be read alike."""
        return beginning(value)

    def shortcuts(self) -> list[tuple[Any, dict[str, str]]]:
        """The days that are asked for most."""
        today = local(timezone.now()).date()
        yesterday, week = _ago(today, 1), _ago(today, 6)
        return [
            (_("Today"), {"since": str(today), "until": ""}),
            (_("Yesterday"), {"since": yesterday, "until": yesterday}),
            (_("Past 7 days"), {"since": week, "until": ""}),
        ]

    def narrowed(self, rows: Rows) -> Rows:
        """By the index over time."""
        if since := self.value("since"):
            rows = rows.filter(created_at__gte=beginning(since))
        if until := self.value("until"):
            rows = rows.filter(created_at__lt=end(until))
        return rows


class ChoiceFilter(FormFilter):
    """One of a few values."""

    def fields(self) -> list[Field]:
        """One select."""
        chosen = self.value()
        offered = self.offered()
        if chosen and chosen not in dict(offered):
            offered = [*offered, (chosen, chosen)]
        name = self.parameters[0]
        field = Field(name=name, label=self.title, value=chosen, kind="select", choices=offered)
        return [replace(field, error=self.unread().get(name, ""))]

    def offered(self) -> Choices:
        """Override: values and what is shown for each."""
        raise NotImplementedError


class ResultFilter(ChoiceFilter):
    """Calls by how they went, in a word."""

    title = _("result")
    parameters = ("result",)
    complaint = _("There is no such result.")

    def offered(self) -> Choices:
        """The groups of outcomes, and all but the first together."""
        return [*OutcomeGroup.choices, (NOT_OK, _("All that is not OK"))]

    def read(self, value: str) -> Any:
        """The outcomes that it admits."""
        if value not in RESULTS:
            raise ValueError(value)
        return RESULTS[value]

    def narrowed(self, rows: Rows) -> Rows:
        """By the index over outcomes."""
        return rows.filter(outcome__in=self.read(self.value()))

    def outcomes(self) -> frozenset[str] | None:
        """Those that it admits; None for any, and where its value cannot be read."""
        found = RESULTS.get(self.value())
        return None if found is None else frozenset(found)


class OutcomeFilter(ChoiceFilter):
    """Calls by how they went, exactly."""

    title = _("outcome")
    parameters = ("outcome__exact",)

    def offered(self) -> Choices:
        """All outcomes."""
        return list(CallOutcome.choices)

    def narrowed(self, rows: Rows) -> Rows:
        """By the index over outcomes."""
        return rows.filter(outcome=self.value())


class DecisionFilter(ChoiceFilter):
    """Calls by what the access checks said."""

    title = _("decision")
    parameters = ("decision",)

    def offered(self) -> Choices:
        """The three decisions."""
        return list(CallDecision.choices)

    def narrowed(self, rows: Rows) -> Rows:
        """An unknown one has no calls."""
        return rows.filter(decision=self.value())


class ToolFilter(ChoiceFilter):
    """Calls of one tool, of those the product declares."""

    title = _("tool")
    parameters = ("tool",)

    def offered(self) -> Choices:
        """The registered names; one in the address may be gone."""
        return [(name, name) for name in sorted(default_server.tools)]

    def narrowed(self, rows: Rows) -> Rows:
        """By the index over tools."""
        return rows.filter(tool=self.value())


class TypedFilter(FormFilter):
    """A filter whose value is typed: a list to choose from would be too long."""

    placeholder: Any = ""

    def fields(self) -> list[Field]:
        """One line of text."""
        name, told = self.parameters[0], self.placeholder
        return [Field(name=name, label=self.title, value=self.value(), placeholder=told)]


class UserFilter(TypedFilter):
    """Calls of one user, also after the account was deleted."""

    title = _("user")
    parameters = ("user",)
    placeholder = _("username")

    def narrowed(self, rows: Rows) -> Rows:
        """To the user of that very name."""
        return rows.filter(of_user(self.value()))


class TokenFilter(TypedFilter):
    """Calls with one token, by its prefix or its name."""

    title = _("token")
    parameters = ("token",)
    placeholder = _("mcp_prefix or name")

    def narrowed(self, rows: Rows) -> Rows:
        """To the tokens of that name, or the one that has or had the prefix."""
        return rows.filter(of_token(self.value()))


class SecretFilter(TypedFilter):
    """Calls with one secret alone, of however many its token has."""

    title = _("secret")
    parameters = ("secret",)
    placeholder = _("mcp_prefix, this one alone")

    def narrowed(self, rows: Rows) -> Rows:
        """By the index over prefixes."""
        typed = self.value()
        return rows.filter(token_lookup=lookup_in(typed) or typed)


class SessionFilter(TypedFilter):
    """Calls of one handshake session."""

    title = _("session")
    parameters = ("session",)
    placeholder = _("the whole session id")

    def narrowed(self, rows: Rows) -> Rows:
        """By the index over its token's calls, where the session is still there."""
        return rows.filter(of_session(self.value()))


class ClientFilter(TypedFilter):
    """Calls of one kind of client, by the name that it gives itself."""

    title = _("client")
    parameters = ("client",)
    placeholder = _("name without its version")

    def narrowed(self, rows: Rows) -> Rows:
        """To that very name."""
        return rows.filter(client_name=self.value())


class DurationFilter(FormFilter):
    """Calls by how long they ran, in milliseconds, both ends included."""

    title = _("duration")
    parameters = ("min_ms", "max_ms")
    complaint = _("Not a number of milliseconds.")

    def fields(self) -> list[Field]:
        """Two numbers."""
        labels = {"min_ms": _("Took at least, in ms"), "max_ms": _("Took at most, in ms")}
        return [self._field(name, label) for name, label in labels.items()]

    def _field(self, name: str, label: Any) -> Field:
        error = self.unread().get(name, "")
        kind = "text" if error else "number"
        return Field(name=name, label=label, value=self.value(name), kind=kind, error=error)

    def read(self, value: str) -> float:
        """A number, with a point."""
        number = float(value)
        if not isfinite(number):
            raise ValueError(value)
        return number

    def narrowed(self, rows: Rows) -> Rows:
        """Those that have ended."""
        if least := self.value("min_ms"):
            rows = rows.filter(duration_ms__gte=self.read(least))
        if most := self.value("max_ms"):
            rows = rows.filter(duration_ms__lte=self.read(most))
        return rows


def unread(filters: Iterable[Any]) -> list[Field]:
    """The fields of filters, a product's own among them, in which something cannot be read."""
    fields = (field for each in filters if isinstance(each, FormFilter) for field in each.fields())
    return [field for field in fields if field.error]


def _ago(day: date, days: int) -> str:
    return str(day - timedelta(days=days))
