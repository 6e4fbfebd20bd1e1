"""The call log: read-only, escaped, and made for a table that is never counted (D-083, D-085)."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from mcp_app.admin import paging
from mcp_app.audit.outcomes import GROUP_MEANINGS, GROUPS, MEANINGS, OutcomeGroup
from mcp_app.audit.seals import seal
from mcp_app.auth.hashing import Secret
from mcp_app.dispatch.interfaces import Decision, Outcome
from mcp_app.models import CallDecision, CallEvent, CallOutcome, Session, Token
from tests.admin.pages import url as page_url
from tests.admin.words import words

Issued = tuple[Token, Secret]
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


def url(page: str, *args: Any) -> str:
    return page_url(page, *args, model="callevent")


@pytest.fixture
def events(issued: Issued, ana: Any) -> dict[str, CallEvent]:
    """Calls that differ in everything that can be asked for."""
    token, secret = issued
    now = timezone.now()
    make = CallEvent.objects.create
    return {
        "ana": make(
            tool="list_rooms",
            outcome="ok",
            user=ana,
            username="ana",
            token=token,
            token_name="laptop",
            token_lookup=secret.reveal()[4:16],
            correlation_id="a" * 32,
            created_at=now,
            client_name="Claude Code",
            client_version="2.1",
            duration_ms=12.5,
        ),
        "gone": make(
            tool="get_room",
            outcome="denied",
            decision="deny",
            duration_ms=2000,
            username="ben",
            token_name="old phone",
            token_lookup="abcdefABCDEF",
            correlation_id="b" * 32,
            created_at=now - timedelta(days=40),
        ),
        "nobody": make(method="tools/list", outcome="unauthenticated", created_at=now),
    }


def found(client: Client, events: dict[str, CallEvent], /, **query: str) -> set[str]:
    response = client.get(url("changelist"), query)
    assert response.status_code == 200, response
    keys = {event.pk for event in response.context["cl"].result_list}
    return {name for name, event in events.items() if event.pk in keys}


def test_the_choices_are_the_dispatchers_words() -> None:
    assert set(CallOutcome.values) == {outcome.value for outcome in Outcome}
    assert set(CallDecision.values) == {decision.value for decision in Decision}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, {"ana", "gone", "nobody"}),
        ({"tool": "list_rooms"}, {"ana"}),
        ({"tool": "no such"}, set()),
        ({"outcome__exact": "denied"}, {"gone"}),
        ({"user": "ana"}, {"ana"}),
        ({"user": "ben"}, {"gone"}),
        ({"user": "b"}, set()),
        ({"user": "\0"}, {"ana", "gone", "nobody"}),
        ({"token": "laptop"}, {"ana"}),
        ({"token": "old phone"}, {"gone"}),
        ({"token": "mcp_abcdefABCDEF"}, {"gone"}),
        ({"token": "mcp_abcdefABCDEF_…"}, {"gone"}),
        ({"secret": "mcp_abcdefABCDEF"}, {"gone"}),
        ({"secret": "mcp_abcdefABCDEF_…"}, {"gone"}),
        ({"secret": "abcdefABCDEF"}, {"gone"}),
        ({"secret": "old phone"}, set()),
        ({"q": "a" * 32}, {"ana"}),
        ({"q": "get_room"}, {"gone"}),
        ({"q": "ben"}, {"gone"}),
        ({"q": "ana"}, {"ana"}),
        ({"q": "abcdefABCDEF"}, {"gone"}),
        ({"q": "mcp_abcdefABCDEF_…"}, {"gone"}),
        ({"q": "'; drop table"}, set()),
        ({"user": "ana", "tool": "get_room"}, set()),
        ({"result": "ok"}, {"ana"}),
        ({"result": "turned_away"}, {"gone", "nobody"}),
        ({"result": "failed"}, set()),
        ({"result": "not_ok"}, {"gone", "nobody"}),
        ({"decision": "deny"}, {"gone"}),
        ({"decision": "no such"}, set()),
        ({"client": "Claude Code"}, {"ana"}),
        ({"client": "Claude"}, set()),
        ({"min_ms": "12.5"}, {"ana", "gone"}),
        ({"min_ms": "12.6"}, {"gone"}),
        ({"max_ms": "12.5"}, {"ana"}),
        ({"min_ms": "13", "max_ms": "14"}, set()),
    ],
)
def test_each_filter_and_search_finds_its_calls(
    query: dict[str, str], expected: set[str], boss_client: Client, events: dict[str, CallEvent]
) -> None:
    assert found(boss_client, events, **query) == expected


def test_a_secret_has_the_calls_made_with_it_and_none_of_its_tokens_others(
    boss_client: Client, events: dict[str, CallEvent], issued: Issued
) -> None:
    token, secret = issued
    events["later"] = CallEvent.objects.create(
        outcome="ok", token=token, token_name="laptop", token_lookup="000000000000"
    )
    lookup = secret.reveal()[4:16]
    assert found(boss_client, events, secret=f"mcp_{lookup}") == {"ana"}
    assert found(boss_client, events, token=f"mcp_{lookup}") == {"ana", "later"}


def test_the_date_filter_narrows(boss_client: Client, events: dict[str, CallEvent]) -> None:
    week_ago = (timezone.now() - timedelta(days=7)).isoformat()
    assert found(boss_client, events, created_at__gte=week_ago) == {"ana", "nobody"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"since": "2026-03-29"}, {"last of the 29th", "first of the 30th"}),
        ({"until": "2026-03-28"}, {"last of the 28th"}),
        ({"since": "2026-03-29", "until": "2026-03-29"}, {"last of the 29th"}),
        ({"since": "2026-03-29T23:59"}, {"last of the 29th", "first of the 30th"}),
        ({"until": "2026-03-29T23:59"}, {"last of the 28th"}),
        ({"since": "2026-03-29T22:00:00+00:00"}, {"first of the 30th"}),
        ({"since": "2026-03-30", "until": "2026-03-29"}, set()),
    ],
)
def test_days_are_those_of_the_current_time_zone(
    query: dict[str, str], expected: set[str], boss_client: Client, settings: Any
) -> None:
    settings.TIME_ZONE = "Europe/Berlin"  # where the 29th of March 2026 has 23 hours
    moments = {
        "last of the 28th": datetime(2026, 3, 28, 22, 59, 30, tzinfo=UTC),
        "last of the 29th": datetime(2026, 3, 29, 21, 59, 30, tzinfo=UTC),
        "first of the 30th": datetime(2026, 3, 29, 22, 0, tzinfo=UTC),
    }
    events = {
        name: CallEvent.objects.create(outcome="ok", created_at=at) for name, at in moments.items()
    }
    assert found(boss_client, events, **query) == expected


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"since": "yesterday"}, "From “yesterday”: Not a day or moment: write 2026-11-30"),
        ({"until": "9999-12-31"}, "Until “9999-12-31”: Not a day or moment"),
        ({"since": "0001-01-01"}, "From “0001-01-01”: Not a day or moment"),
        ({"until": "2026-02-30"}, "Until “2026-02-30”: Not a day or moment"),
        ({"min_ms": "fast"}, "Took at least, in ms “fast”: Not a number of milliseconds."),
        ({"max_ms": "nan"}, "Took at most, in ms “nan”: Not a number of milliseconds."),
        ({"result": "fine"}, "Result “fine”: There is no such result."),
    ],
)
def test_what_cannot_be_read_is_told_and_finds_nothing(
    query: dict[str, str], told: str, boss_client: Client, events: dict[str, CallEvent]
) -> None:
    assert found(boss_client, events, **query, user="ana") == set()
    text = boss_client.get(url("changelist"), {**query, "user": "ana"}).content.decode()
    assert told in words(text)
    [(name, value)] = query.items()
    field = re.search(rf'<(?:input|select) [^>]*id="mcp-filter-{name}"[^>]*>', text)
    assert field
    assert f'aria-invalid="true" aria-describedby="mcp-wrong-{name}"' in field[0]
    assert f'id="mcp-wrong-{name}"' in text
    assert f'value="{value}"' in text
    assert 'value="ana"' in text


def test_one_choice_finds_whatever_is_not_ok(boss_client: Client, db: None) -> None:
    events = {each: CallEvent.objects.create(outcome=each) for each in CallOutcome}
    assert found(boss_client, events, result="not_ok") == {*CallOutcome} - {CallOutcome.OK}
    text = boss_client.get(url("changelist"), {"result": "not_ok"}).content.decode()
    assert '<option value="not_ok" selected>All that is not OK</option>' in text


def test_the_list_says_what_each_result_and_outcome_means(boss_client: Client) -> None:
    legend = boss_client.get(url("changelist")).content.decode().partition('id="mcp-outcomes"')[2]
    text = words(legend.partition("</details>")[0])
    for each in (*OutcomeGroup, *CallOutcome):
        assert str(each.label) in text
        assert str(GROUP_MEANINGS.get(each) or MEANINGS[each]) in text


def test_yesterday_is_a_click_away(boss_client: Client, events: dict[str, CallEvent]) -> None:
    now = timezone.localtime()
    yesterday = str((now - timedelta(days=1)).date())
    late = now.replace(hour=23, minute=59) - timedelta(days=1)
    events["late"] = CallEvent.objects.create(outcome="failed", created_at=late)
    text = boss_client.get(url("changelist"), {"result": "failed"}).content.decode()
    query = f"result=failed&amp;since={yesterday}&amp;until={yesterday}"
    assert f'<a href="?{query}">Yesterday</a>' in text
    assert found(boss_client, events, result="failed", since=yesterday, until=yesterday) == {"late"}


def test_fields_that_were_left_empty_do_not_stay_in_the_address(boss_client: Client) -> None:
    response = boss_client.get(url("changelist"), {"tool": "", "user": "ana", "since": ""})
    assert (response.status_code, response["Location"]) == (302, f"{url('changelist')}?user=ana")
    assert boss_client.get(url("changelist"), {"all": ""}).status_code == 200


def test_a_list_of_nothing_says_why(boss_client: Client, db: None) -> None:
    text = boss_client.get(url("changelist")).content.decode()
    assert "No call has been recorded yet." in text
    text = boss_client.get(url("changelist"), {"user": "nobody"}).content.decode()
    assert "No call fits what is searched and filtered for." in text
    assert '<a href="?" class="showall">Show all calls</a>' in text


def test_every_outcome_is_in_one_group() -> None:
    grouped = [outcome for outcomes in GROUPS.values() for outcome in outcomes]
    assert sorted(grouped) == sorted(CallOutcome)


def test_a_tokens_prefix_finds_calls_with_its_other_secrets_too(
    boss_client: Client, events: dict[str, CallEvent], issued: Issued
) -> None:
    assert found(boss_client, events, token=issued[1].reveal()[:16]) == {"ana"}


def test_the_filters_keep_each_other_and_the_rest_of_the_address(
    boss_client: Client, events: dict[str, CallEvent]
) -> None:
    query = {"tool": "gone <b>", "user": 'an"a', "q": "ana", "created_at__gte": "2026-01-01T00:00Z"}
    text = boss_client.get(url("changelist"), query).content.decode()
    form = text.partition('class="mcp-filters"')[2].partition("</form>")[0]
    assert '<option value="gone &lt;b&gt;" selected>' in form
    assert 'value="an&quot;a"' in form
    assert '<input type="hidden" name="q" value="ana">' in form
    assert '<input type="hidden" name="created_at__gte" value="2026-01-01T00:00Z">' in form
    assert form.count('name="user"') == 1


def test_the_newest_stand_first(boss_client: Client, events: dict[str, CallEvent]) -> None:
    listed = boss_client.get(url("changelist")).context["cl"].result_list
    assert [event.created_at for event in listed] == sorted(
        (event.created_at for event in events.values()), reverse=True
    )


def test_the_list_is_never_counted_to_the_end(
    boss_client: Client, events: dict[str, CallEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "MOST", 2)
    with CaptureQueriesContext(connection) as queries:
        response = boss_client.get(url("changelist"))
    counts = [query["sql"] for query in queries if "COUNT(" in query["sql"]]
    assert counts
    assert all("LIMIT 2" in sql for sql in counts)
    assert "The newest 2 calls" in response.content.decode()


def test_the_list_asks_as_much_for_one_call_as_for_many(
    boss_client: Client, events: dict[str, CallEvent], ana: Any
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            boss_client.get(url("changelist"))
        return len(captured)

    before = queries()
    CallEvent.objects.bulk_create(
        CallEvent(tool="t", outcome="ok", user=ana, username="ana") for _ in range(40)
    )
    assert queries() == before


def test_the_list_leaves_long_texts_in_the_database(
    boss_client: Client, events: dict[str, CallEvent]
) -> None:
    with CaptureQueriesContext(connection) as queries:
        boss_client.get(url("changelist"))
    rows = [query["sql"] for query in queries if "client_name" in query["sql"]]
    assert rows
    assert not any('"arguments"' in sql or '"error_text"' in sql for sql in rows)


def test_what_a_caller_sent_shows_as_text(boss_client: Client, issued: Issued) -> None:
    event = CallEvent.objects.create(
        outcome="failed",
        tool=HOSTILE,
        method=HOSTILE,
        username=HOSTILE,
        token_name=HOSTILE,
        client_name=HOSTILE,
        client_version=HOSTILE,
        request_id=HOSTILE,
        session_id=HOSTILE[:64],
        error_class=HOSTILE,
        error_text=HOSTILE,
        arguments={HOSTILE: [HOSTILE]},
    )
    for page in (url("changelist"), url("change", event.pk)):
        text = boss_client.get(page).content.decode()
        assert "<script>alert(1)" not in text
        assert "<img src=x" not in text
        assert "&lt;script&gt;alert(1)" in text


def test_the_page_of_a_call_reads_well(
    boss_client: Client, events: dict[str, CallEvent], issued: Issued, ana: Any
) -> None:
    event = events["ana"]
    event.arguments = {"limit": 50, "names": ["Zoë"]}
    event.duration_ms = 12.34
    event.save()
    text = boss_client.get(url("change", event.pk)).content.decode()
    assert "&quot;limit&quot;: 50,\n" in text
    assert "Zoë" in text
    assert "12.3 ms" in text
    assert page_url("change", issued[0].pk) in text
    assert f"/auth/user/{ana.pk}/change/" in text
    assert f"mcp_{issued[1].reveal()[4:16]}_…" in text


def test_a_deleted_users_calls_keep_the_name(
    boss_client: Client, events: dict[str, CallEvent], ana: Any
) -> None:
    ana.delete()
    text = boss_client.get(url("change", events["ana"].pk)).content.decode()
    assert "ana" in text
    assert "laptop" in text
    assert found(boss_client, events, user="ana") == {"ana"}
    assert found(boss_client, events, token="laptop") == {"ana"}


def test_nobody_adds_or_changes_a_call(boss_client: Client, events: dict[str, CallEvent]) -> None:
    event = events["ana"]
    assert boss_client.get(url("add")).status_code == 403
    assert boss_client.post(url("add"), {"outcome": "ok"}).status_code == 403
    assert boss_client.post(url("change", event.pk), {"tool": "other"}).status_code == 403
    event.refresh_from_db()
    assert event.tool == "list_rooms"
    assert CallEvent.objects.count() == 3


def test_deleting_takes_the_permission(
    staff_client: Callable[..., Client], events: dict[str, CallEvent]
) -> None:
    target = url("delete", events["ana"].pk)
    assert staff_client("view_callevent").post(target, {"post": "yes"}).status_code == 403
    assert CallEvent.objects.count() == 3
    allowed = staff_client("view_callevent", "delete_callevent")
    assert allowed.post(target, {"post": "yes"}).status_code == 302
    assert CallEvent.objects.count() == 2
    assert LogEntry.objects.count() == 1


def test_deleting_many_takes_the_permission_and_is_chosen_by_nobody_unasked(
    staff_client: Callable[..., Client], events: dict[str, CallEvent]
) -> None:
    asked = {"action": "delete_selected", "_selected_action": [events["ana"].pk], "post": "yes"}
    staff_client("view_callevent").post(url("changelist"), asked)
    assert CallEvent.objects.count() == 3
    allowed = staff_client("view_callevent", "delete_callevent")
    form = allowed.get(url("changelist")).context["action_form"]
    assert form.fields["action"].choices[0][0] == ""
    assert not form["action"].value()
    allowed.post(url("changelist"), asked)
    assert CallEvent.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_what_a_deletion_does_to_the_seals_is_said_before(
    boss_client: Client, events: dict[str, CallEvent]
) -> None:
    chosen = {"action": "delete_selected", "_selected_action": [events["ana"].pk]}
    one = boss_client.get(url("delete", events["ana"].pk)).content.decode()
    many = boss_client.post(url("changelist"), chosen).content.decode()
    for text in (one, many):
        assert "No seal covers this yet" in text
        assert 'name="post" value="yes"' in text
    assert len(list(seal("default"))) == 1
    many = boss_client.post(url("changelist"), chosen).content.decode()
    assert "Sealed calls are among them" in many
    assert 'name="post" value="yes"' not in many


def test_seeing_takes_the_permission(
    staff_client: Callable[..., Client], events: dict[str, CallEvent]
) -> None:
    assert staff_client("view_token").get(url("changelist")).status_code == 403
    assert staff_client("view_callevent").get(url("changelist")).status_code == 200


def test_all_is_offered_only_where_some_are_hidden(
    boss_client: Client, events: dict[str, CallEvent]
) -> None:
    plain = boss_client.get(url("changelist")).content.decode()
    filtered = boss_client.get(url("changelist"), {"result": "ok"}).content.decode()
    searched = boss_client.get(url("changelist"), {"q": "ana"}).content.decode()
    assert ["Show all</a>)" in text for text in (plain, filtered, searched)] == [False, True, True]


def test_a_call_of_nobody_has_its_address_in_the_list_and_live(boss_client: Client) -> None:
    CallEvent.objects.create(outcome="unauthenticated", method="x", address="203.0.113.9")
    assert "203.0.113.9" in words(boss_client.get(url("changelist")).content.decode())
    assert boss_client.get(url("tail_rows")).json()["rows"][0]["user"] == "203.0.113.9"


def test_a_session_has_the_calls_of_its_holder_under_its_id(
    boss_client: Client, events: dict[str, CallEvent], issued: Issued
) -> None:
    key = "e" * 32
    CallEvent.objects.filter(pk__in=[events["ana"].pk, events["nobody"].pk]).update(session_id=key)
    assert found(boss_client, events, session=key) == {"ana", "nobody"}
    Session.objects.create(key=key, token=issued[0], user=issued[0].user, protocol_version="x")
    assert found(boss_client, events, session=key) == {"ana"}, "not what others sent under it"
    assert found(boss_client, events, session=key[:8]) == set()


def test_what_came_of_a_call_is_asked_in_one_place(boss_client: Client) -> None:
    specs = boss_client.get(url("changelist")).context["cl"].filter_specs
    names = [spec.parameters[0] for spec in specs]
    start = names.index("result")
    assert names[start : start + 3] == ["result", "outcome__exact", "decision"]
