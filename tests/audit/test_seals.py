"""What was sealed and changed since is found; what may change is not held against it."""

import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from mcp_app.audit.events import to_event
from mcp_app.audit.leaves import FORGOTTEN, SEALED
from mcp_app.audit.storage import Entry, store
from mcp_app.auth.tokens import issue
from mcp_app.models import CallEvent, Seal
from tests.audit.records import call

pytestmark = pytest.mark.django_db(transaction=True)


def sealed(*arguments: str) -> str:
    """Seal; the head of the chain."""
    out = io.StringIO()
    call_command("mcp_seal", *arguments, stdout=out)
    return out.getvalue().split()[-1]


def faults(*arguments: str) -> list[str]:
    """What verifying tells."""
    err = io.StringIO()
    try:
        call_command("mcp_seal", "--verify", *arguments, stdout=io.StringIO(), stderr=err)
    except CommandError:
        return err.getvalue().splitlines()
    assert not err.getvalue()
    return []


def prune(*arguments: str) -> str:
    out = io.StringIO()
    call_command("mcp_prune", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch, django_user_model: Any) -> list[CallEvent]:
    """Seven sealed calls in links of three, the first ones old."""
    monkeypatch.setattr("mcp_app.audit.seals.ROWS", 3)
    user = django_user_model.objects.create_user("ana")
    token, _ = issue(user=user, name="laptop")
    made = [
        to_event(call(tool=f"t{n}", user=user, token=token, outcome="ok" if n % 2 else "denied"))
        for n in range(7)
    ]
    for event in made[:4]:
        event.created_at = timezone.now() - timedelta(days=100)
    for event in made:
        event.save()
    sealed()
    return made


def test_every_column_is_in_the_digest_or_has_a_mark() -> None:
    columns = {field.attname for field in CallEvent._meta.concrete_fields}
    assert {*SEALED, *FORGOTTEN} == columns


def test_what_was_not_touched_verifies(rows: list[CallEvent]) -> None:
    assert [link.rows for link in Seal.objects.order_by("number")] == [0, 3, 3, 1]
    assert faults() == []


CHANGES: dict[str, Any] = {
    "created_at": timezone.now() - timedelta(days=1),
    "duration_ms": 1.5,
    "arguments": {"limit": 6},
    "result_bytes": 7,
    "address": "10.0.0.9",
    "user_id": 4711,
    "token_id": 4711,
}


@pytest.mark.parametrize("column", [c for c in (*SEALED, *FORGOTTEN) if c != "id"])
def test_a_change_of_any_column_is_found_in_its_row(rows: list[CallEvent], column: str) -> None:
    changed = CallEvent.objects.filter(pk=rows[4].pk)
    changed.update(**{column: CHANGES.get(column, "x")})

    assert faults() == [f"Row {rows[4].pk} (link 3) was changed."]


def test_a_row_that_is_gone_is_found(rows: list[CallEvent]) -> None:
    CallEvent.objects.filter(pk__in=[rows[0].pk, rows[6].pk]).delete()

    assert faults() == [
        f"Row {rows[0].pk} (link 2) was removed.",
        f"Row {rows[6].pk} (link 4) was removed.",
    ]


def test_a_row_in_anothers_place_is_found(rows: list[CallEvent]) -> None:
    CallEvent.objects.filter(pk=rows[3].pk).delete()
    to_event(call(tool="forged")).save()
    CallEvent.objects.filter(tool="forged").update(id=rows[3].pk)

    assert faults() == [f"Row {rows[3].pk} (link 3) was changed."]


def test_a_row_between_two_sealed_ones_is_found(rows: list[CallEvent]) -> None:
    free = rows[6].pk + 5
    CallEvent.objects.create(pk=free + 1, outcome="ok")
    sealed()
    CallEvent.objects.create(pk=free, outcome="ok")

    assert faults() == [f"Row {free} (link 5) was inserted."]


@pytest.mark.parametrize("key", [0, -5])
def test_a_row_before_the_first_one_is_found(rows: list[CallEvent], key: int) -> None:
    CallEvent.objects.create(pk=key, outcome="ok")

    assert faults() == [f"Row {key} (link 1) was inserted."]


@pytest.mark.parametrize("column", FORGOTTEN)
def test_a_key_that_was_taken_although_nothing_was_deleted_is_found(
    rows: list[CallEvent], column: str
) -> None:
    rows[0].user.username = "anna"
    rows[0].user.save()
    CallEvent.objects.filter(pk=rows[4].pk).update(**{column: None})

    assert faults() == [f"Row {rows[4].pk} (link 3) was changed."]


def test_a_token_that_was_deleted_takes_its_key_and_not_its_users(rows: list[CallEvent]) -> None:
    rows[0].token.delete()
    assert faults() == []
    CallEvent.objects.filter(pk=rows[4].pk).update(user=None)

    assert faults() == [f"Row {rows[4].pk} (link 3) was changed."]


def test_arguments_that_are_no_json_any_more_are_found(rows: list[CallEvent]) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("no other database stores them")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE mcp_app_callevent SET created_at = 'never' WHERE tool = 't4'")
        cursor.execute("PRAGMA ignore_check_constraints = ON")
        cursor.execute("UPDATE mcp_app_callevent SET arguments = '{' WHERE tool = 't5'")

    assert faults() == [f"Row {row.pk} (link 3) was changed." for row in rows[4:6]]


def test_deleting_a_user_or_a_token_breaks_no_seal(rows: list[CallEvent], settings: Any) -> None:
    rows[0].user.delete()

    assert CallEvent.objects.filter(user=None, token=None, username="ana").count() == 7
    assert faults() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"previous": "0" * 64}, "Link 3 does not follow the one before it."),
        ({"rows": 2}, "Link 3 was changed."),
        ({"reason": "because"}, "Link 3 was changed."),
        ({"contents": b"1234"}, "Link 3 has other contents than it was made with."),
        ({"contents": b""}, "Link 3 has lost the digests of its rows."),
        ({"key_id": "f" * 16}, "Link 3 is signed with a key that"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_changed_link_is_found(rows: list[CallEvent], change: dict[str, Any], said: str) -> None:
    Seal.objects.filter(number=3).update(**change)

    assert faults()[0].startswith(said)


def test_a_missing_link_is_found(rows: list[CallEvent]) -> None:
    Seal.objects.filter(number=3).delete()

    assert faults()[0] == "Link 4 does not follow the one before it."


def test_a_chain_that_lost_its_end_does_not_hold_the_head_that_was_kept(
    rows: list[CallEvent],
) -> None:
    kept = sealed()
    assert faults("--head", kept) == []
    to_event(call()).save()
    sealed()
    assert faults("--head", kept) == []
    Seal.objects.filter(number__gte=4).delete()
    CallEvent.objects.filter(pk__gt=rows[5].pk).delete()

    assert faults() == []
    assert "no link has the digest" in faults("--head", kept)[0]


@pytest.mark.parametrize("outcome", ["started", "waiting"])
def test_a_call_that_runs_waits_to_be_sealed_and_one_that_was_killed_does_not(outcome: str) -> None:
    old = timezone.now() - timedelta(days=2)
    killed = CallEvent.objects.create(outcome=outcome, created_at=old)
    runs = CallEvent.objects.create(outcome=outcome)
    after = CallEvent.objects.create(outcome="ok")
    sealed()
    assert list(Seal.objects.filter(rows=1).values_list("first_id", "last_id")) == [(1, killed.pk)]

    CallEvent.objects.filter(pk=runs.pk).update(outcome="ok", duration_ms=5)
    sealed()
    assert Seal.objects.first().last_id == after.pk  # type: ignore[union-attr]
    assert faults() == []


def test_no_row_is_sealed_past_one_that_is_being_written(monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("no other database commits keys out of order")
    monkeypatch.setattr("mcp_app.audit.seals._LOCK_TRIES", 1)
    other = connection.copy()
    other.set_autocommit(False)
    with other.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence('mcp_app_callevent', 'id'))")
        late = cursor.fetchone()[0]
        to_event(call(tool="early")).save()
        columns = ", ".join(f'"{f.column}"' for f in CallEvent._meta.concrete_fields[1:])
        cursor.execute(
            f"INSERT INTO mcp_app_callevent (id, {columns})"  # noqa: S608 - names of columns
            f" SELECT %s, {columns} FROM mcp_app_callevent",
            [late],
        )
    with pytest.raises(CommandError, match="without a pause"):
        sealed()
    other.commit()
    other.close()

    sealed()
    assert Seal.objects.get(rows__gt=0).rows == 2
    assert faults() == []


def test_the_end_of_a_call_of_a_day_is_a_row_of_its_own() -> None:
    record = call(outcome="started", duration=None)
    store([Entry(record, to_event(record))])
    record.outcome, record.duration = "ok", 23.5 * 3600
    store([Entry(record, to_event(record))])

    outcomes = CallEvent.objects.order_by("pk").values_list("outcome", flat=True)
    assert list(outcomes) == ["started", "ok"]


# --- pruning beside seals ------------------------------------------------------------------------


def test_what_was_pruned_is_explained_and_nothing_else_is(rows: list[CallEvent]) -> None:
    assert "Removed 2 calls (denied)" in prune("--older-than", "denied=90d")
    assert faults() == []
    CallEvent.objects.filter(pk=rows[1].pk).delete()
    assert faults() == [f"Row {rows[1].pk} (link 2) was removed."]


def test_a_pruned_row_that_is_there_again_is_found(rows: list[CallEvent]) -> None:
    prune("--older-than", "90d")
    CallEvent.objects.create(pk=rows[0].pk, outcome="ok")

    assert faults() == [f"Row {rows[0].pk} (link 2) was inserted."]


def test_digests_of_ranges_that_are_gone_are_let_go(rows: list[CallEvent]) -> None:
    prune("--older-than", "90d")

    contents = Seal.objects.filter(kind="range", rows__gt=0).order_by("number")
    assert [bool(link.contents) for link in contents] == [False, True, True]
    assert faults() == []
    sealed()
    assert faults() == []


def test_a_forged_removal_is_found(rows: list[CallEvent]) -> None:
    prune("--older-than", "denied=90d")
    tombstone = Seal.objects.get(kind="pruned")
    CallEvent.objects.filter(pk=rows[5].pk).delete()
    Seal.objects.filter(pk=tombstone.pk).update(last_id=rows[6].pk)

    assert "Link 5 was changed." in faults()


# --- keys ----------------------------------------------------------------------------------------


def test_with_a_key_nobody_who_lacks_it_can_make_the_chain_anew(
    rows: list[CallEvent], settings: Any
) -> None:
    settings.MCP_APP = {"SEAL_KEYS": ["new", "old"]}
    assert faults() == ["Link 4 is not signed, although MCP_APP['SEAL_KEYS'] has a key."]
    with pytest.raises(CommandError, match="--adopt"):
        sealed()
    with pytest.raises(CommandError, match="--adopt"):
        prune("--older-than", "90d")
    sealed("--adopt")
    assert faults() == []

    settings.MCP_APP = {}
    to_event(call()).save()
    sealed()
    settings.MCP_APP = {"SEAL_KEYS": ["new"]}
    assert "Link 6 is not signed, although an earlier one is." in faults()


def test_an_old_key_still_verifies(rows: list[CallEvent], settings: Any) -> None:
    settings.MCP_APP = {"SEAL_KEYS": ["old"]}
    sealed("--adopt")
    settings.MCP_APP = {"SEAL_KEYS": ["new", "old"]}
    to_event(call()).save()
    sealed()
    assert faults() == []
    settings.MCP_APP = {"SEAL_KEYS": ["new"]}
    assert faults()[0].startswith("Link 5 is signed with a key that")


def test_nothing_sealed_is_nothing_verified() -> None:
    with pytest.raises(CommandError, match="Nothing is sealed"):
        call_command("mcp_seal", "--verify", stdout=io.StringIO())
