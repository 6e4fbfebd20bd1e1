"""The compiled statement finds the switches that the ORM finds, for one request and for many."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from mcp_app.access import in_force
from mcp_app.access.in_force import Announced
from mcp_app.models import Switch

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _compiled_here() -> Iterator[None]:
    """Each test compiles its own statement, and leaves none."""
    vars(connections["default"]).pop("_mcp_app_compiled", None)
    yield
    vars(connections["default"]).pop("_mcp_app_compiled", None)


@pytest.fixture
def switches() -> list[Switch]:
    """Of every kind, of two servers, lifted and not, before their end and after."""
    now, ana = timezone.now(), get_user_model().objects.create_user("ana")
    return [
        _switch("off", noun="tool", name="add % ☃ %s", set_by=ana),
        _switch("maintenance", until=now + timedelta(hours=1)),
        _switch("read_only", until=now - timedelta(seconds=1)),
        _switch("off", noun="tool", name="gone", lifted_at=now),
        _switch("maintenance", server="other"),
    ]


def _switch(kind: str, **options: Any) -> Switch:
    return Switch.objects.create(**{"kind": kind, "reason": "Why\nnot", **options})


def _columns(switch: Switch) -> dict[str, Any]:
    return {field.attname: getattr(switch, field.attname) for field in Switch._meta.concrete_fields}


def _of_the_orm(server: str) -> list[Switch]:
    return list(in_force.in_force("default", server, timezone.now()))


def test_the_rows_are_those_of_the_orm_in_one_query(switches: list[Switch]) -> None:
    in_force.read("compiled now")
    for server, count in (("default", 2), ("other", 1), ("' OR 1=1 --", 0)):
        with CaptureQueriesContext(connection) as queries:
            found = in_force.read(server)
        assert len(queries) == 1
        assert len(found) == count
        assert [_columns(one) for one in found] == [_columns(one) for one in _of_the_orm(server)]
        assert all((one._state.db, one._state.adding) == ("default", False) for one in found)


def test_naive_moments_are_compared_as_the_orm_does(settings: Any) -> None:
    settings.USE_TZ = False
    _switch("maintenance", until=timezone.now() + timedelta(minutes=1))
    _switch("read_only", until=timezone.now() - timedelta(minutes=1))
    found = in_force.read("default")
    assert [one.kind for one in found] == ["maintenance"]
    assert [_columns(one) for one in found] == [_columns(one) for one in _of_the_orm("default")]


def test_the_end_is_compared_to_the_microsecond(monkeypatch: pytest.MonkeyPatch) -> None:
    end = timezone.now() + timedelta(minutes=5)
    _switch("maintenance", until=end)
    monkeypatch.setattr("django.utils.timezone.now", lambda: end - timedelta(microseconds=1))
    assert len(in_force.read("default")) == 1
    monkeypatch.setattr("django.utils.timezone.now", lambda: end)
    assert in_force.read("default") == []


def test_columns_with_parameters_of_their_own_are_left_to_the_orm(
    switches: list[Switch], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shout(compiler: Any, sql: str, params: Any) -> tuple[str, list[Any]]:
        return f"COALESCE({sql}, %s)", [*params, "nothing"]

    monkeypatch.setattr(Switch._meta.get_field("reason"), "select_format", shout)
    assert {one.pk for one in in_force.read("default")} == {one.pk for one in switches[:2]}


def test_many_requests_of_a_server_cost_one_query(switches: list[Switch]) -> None:
    in_force.read("compiled now")
    waiting = [Announced("default"), Announced("default"), Announced("other")]
    with CaptureQueriesContext(connection) as queries:
        in_force.look_up(waiting)
        taken = [{one.kind for one in announced.take()} for announced in waiting]
    assert taken == [{"off", "maintenance"}, {"off", "maintenance"}, {"maintenance"}]
    assert len(queries) == 2


def test_rows_are_taken_once_and_only_where_they_are_fresh() -> None:
    first, second = Announced("default"), Announced("default")
    in_force.look_up([first, second])
    assert first.take() == []
    _switch("maintenance")
    assert len(first.take()) == 1
    later = in_force.time.monotonic() + 0.06
    with patch.object(in_force.time, "monotonic", return_value=later):
        assert len(second.take()) == 1


def test_what_was_not_read_ahead_is_read_where_it_is_asked_for() -> None:
    announced = Announced("default")
    _switch("maintenance")
    assert len(announced.take()) == 1
