"""The compiled INSERT makes the rows that the ORM makes, and tells their keys."""

from collections.abc import Iterator
from copy import copy
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, connections
from django.db.models.signals import post_init
from django.test.utils import CaptureQueriesContext

from mcp_app.audit import insertion
from mcp_app.audit.events import to_event
from mcp_app.audit.insertion import insert
from mcp_app.dispatch.interfaces import Outcome
from mcp_app.models import CallEvent
from tests.audit.records import call

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _compiled_here() -> Iterator[None]:
    """Each test compiles its own statements, and leaves none."""
    vars(connections["default"]).pop("_mcp_app_compiled", None)
    yield
    vars(connections["default"]).pop("_mcp_app_compiled", None)


def events() -> list[CallEvent]:
    """Rows with something, nothing and the awkward in each column."""
    ana = get_user_model().objects.create_user("ana")
    records = [
        call(user=ana, result_bytes=2**40, address="2001:db8::1", client_name="ä ☃ %s"),
        call(arguments=None, duration=None, outcome=Outcome.STARTED, decision=""),
        call(arguments={"limit": 'a "b" %s \\ ☃', "deep": [1, None, {"x": 1.5}]}),
        call(error_text="line\none", error_class="Boom", request_id=0, session_id="s" * 64),
    ]
    return [to_event(record) for record in records]


def columns(event: CallEvent) -> dict[str, Any]:
    return {
        field.attname: getattr(event, field.attname)
        for field in CallEvent._meta.concrete_fields
        if not field.primary_key
    }


def stored(made: list[CallEvent]) -> list[dict[str, Any]]:
    """What stands under the keys of the events, in order."""
    found = CallEvent.objects.in_bulk([event.pk for event in made])
    return [columns(found[event.pk]) for event in made]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_rows_are_those_that_the_orm_makes(count: int) -> None:
    ours = events()[:count]
    orms = [copy(event) for event in ours]
    insert(ours, "default")
    CallEvent.objects.bulk_create(orms)
    assert stored(ours) == stored(orms)
    assert all((event._state.adding, event._state.db) == (False, "default") for event in ours)


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 70])
def test_each_of_many_events_learns_its_own_key(count: int) -> None:
    made = [to_event(call(tool=f"tool {number}")) for number in range(count)]
    with CaptureQueriesContext(connection) as queries:
        insert(made, "default")
    assert len(queries) == -(-count // 32)
    assert [row["tool"] for row in stored(made)] == [event.tool for event in made]
    assert sorted(event.pk for event in made) == [event.pk for event in made]


def test_a_statement_is_compiled_once_for_each_number_of_rows() -> None:
    insert([to_event(call()) for _ in range(4)], "default")
    (kept,) = vars(connections["default"])["_mcp_app_compiled"].values()
    insert([to_event(call()) for _ in range(4)], "default")
    assert list(vars(connections["default"])["_mcp_app_compiled"].values()) == [kept]


def test_what_is_not_understood_is_left_to_the_orm(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = insertion._compiled

    def more(*args: Any) -> tuple[str, list[Any]]:
        sql, parameters = compiled(*args)
        return sql, [*parameters, "more"]

    monkeypatch.setattr(insertion, "_compiled", more)
    ours = events()
    insert(ours, "default")
    assert stored(ours) == [columns(event) for event in ours]


def test_an_event_is_the_row_that_its_constructor_makes() -> None:
    """Made past the constructor, or by it where somebody listens to that."""
    quick = to_event(call(request_id="one"))
    heard = []

    def listener(instance: CallEvent, **kwargs: Any) -> None:
        heard.append(instance)

    post_init.connect(listener, sender=CallEvent)
    try:
        slow = to_event(call(request_id="one"))
    finally:
        post_init.disconnect(listener, sender=CallEvent)
    assert heard == [slow]
    assert vars(quick).keys() == vars(slow).keys()
    assert vars(quick._state) == vars(slow._state)
    assert {**columns(quick), "created_at": 0} == {**columns(slow), "created_at": 0}
