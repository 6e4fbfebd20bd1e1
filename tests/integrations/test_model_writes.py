"""Rows made, changed and deleted by tools over a model: validated, and kept in sight."""

import datetime as dt
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, models
from django.test.utils import isolate_apps
from django.utils import timezone
from rest_framework.permissions import AllowAny

from mcp_app import MCPServer
from mcp_app.integrations import ModelTools
from mcp_app.integrations.tables.writing import held
from mcp_app.models import CallEvent
from mcp_app.testing import Door, MCPClient
from project.quiz.models import (
    Announcement,
    CountryStatistic,
    Match,
    MatchAnswer,
    MatchEvent,
    MatchQuestion,
    Player,
    Room,
)
from tests.integrations.players import client_of, may, player, room

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("players_mounted")]


def client_for(cls: Any = ModelTools, model: Any = Room, **options: Any) -> MCPClient:
    """A client of tools that any user may call."""
    own = MCPServer("of one test")
    cls(model, server=own, **{"permission_classes": [AllowAny]} | options)
    assert not own.problems, own.problems
    return MCPClient(client_of().token, version="2026-07-28", door="asgi", server=own)


def test_a_row_is_made_changed_and_deleted(door: Door) -> None:
    client, hall = client_of("view", "add", "change", "delete", door=door), room("hall")

    made = client.call("player_create", {"nickname": "Ada", "country": "NO", "room": hall.pk})
    pk = made.structured["id"]
    assert made.structured["room__name"] == "hall"
    changed = client.call("player_update", {"id": pk, "nickname": "Bea"})
    assert changed.structured == {**made.structured, "nickname": "Bea"}
    row = Player.objects.get()
    assert (row.nickname, row.country, row.room) == ("Bea", "NO", hall)
    assert client.call("player_delete", {"id": pk}).text == "Deleted."
    assert not Player.objects.exists()


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"is_host": True}, "is_host"),
        ({"joined_at": "2026-01-01T00:00:00Z"}, "joined_at"),
        ({"id": 7}, "id"),
        ({"pk": 7}, "pk"),
        ({"room__name": "taken over"}, "room__name"),
        ({"room_id": 1}, "room_id"),
        ({"nickname": 5}, "nickname"),
        ({"nickname": None}, "nickname"),
        ({"nickname": ""}, "nickname"),
        ({"nickname": "x" * 31}, "nickname"),
        ({"nickname": "\0"}, "nickname"),
        ({"room": "1"}, "room"),
        ({"room": 0}, "room: Invalid pk"),
        ({"room": 10**30}, "room: Invalid pk"),
        ({"room": {"name": "new"}}, "room"),
    ],
)
def test_what_the_model_does_not_take_is_told_by_the_name_of_the_argument(
    sent: dict[str, Any], told: str
) -> None:
    arguments = {"nickname": "Ada", "country": "NO", "room": room().pk}

    answer = client_of("view", "add").call("player_create", arguments | sent)

    assert answer.is_error
    assert told in answer.text
    assert CallEvent.objects.get(tool="player_create").outcome == "invalid"
    assert not Player.objects.exists()


def test_what_is_unique_together_is_told() -> None:
    bob, hall = player("Bob", room("hall")), room("bar")
    client = client_of("view", "add", "change")

    twice = {"nickname": "Bob", "country": "NO", "room": bob.room_id}
    assert "already exists" in client.call("player_create", twice).text
    other = player("Bob", hall)
    moved = client.call("player_update", {"id": other.pk, "room": bob.room_id})
    assert "already exists" in moved.text
    assert CallEvent.objects.filter(outcome="invalid").count() == 2
    assert not client.call("player_update", {"id": bob.pk, "nickname": "Bob"}).is_error


def test_the_models_own_rules_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def clean(row: Player) -> None:
        if row.country == "NO":
            raise ValidationError({"country": "Nobody is from NO.", "is_host": "And no host."})
        if row.country == "SE":
            raise ValidationError("Not today.")

    monkeypatch.setattr(Player, "clean", clean)
    client, bob = client_of("view", "change"), player("Bob")

    by_field = client.call("player_update", {"id": bob.pk, "country": "NO"}).text
    assert by_field == "country: is not valid\nis_host: And no host."
    assert client.call("player_update", {"id": bob.pk, "country": "SE"}).text == "Not today."
    bob.refresh_from_db()
    assert bob.country == "JP"


def test_what_is_not_sent_stays_as_it_is_and_is_not_judged() -> None:
    bob = player("Bob", country="")
    joined = bob.joined_at

    answer = client_of("view", "change").call("player_update", {"id": bob.pk, "nickname": "Bo"})

    assert not answer.is_error, answer.text
    bob.refresh_from_db()
    assert (bob.nickname, bob.joined_at) == ("Bo", joined)


def test_what_the_product_sets_is_judged_too() -> None:
    class Naming(ModelTools):
        def prepare(self, ctx: Any, row: Any) -> None:
            row.topic = "lost"

    client = client_for(Naming, tools=["update"], fields=["id"], writable=["name"])

    answer = client.call("room_update", {"id": room().pk, "name": "two"})

    assert answer.text.startswith("topic: ")
    assert Room.objects.get().name == "one"


def test_a_change_of_nothing_is_refused() -> None:
    answer = client_of("view", "change").call("player_update", {"id": player().pk})

    assert (answer.is_error, "at least one field" in answer.text) == (True, True)


def test_no_row_is_written_out_of_sight() -> None:
    hall, hidden = room("hall"), room("hidden")
    bob, client = player("Bob", hall), client_of("view", "add", "change")

    made = client.call("player_create", {"nickname": "Ada", "country": "NO", "room": hidden.pk})
    moved = client.call("player_update", {"id": bob.pk, "room": hidden.pk})

    told = "You could not see the player then, so nothing was written."
    assert (made.text, moved.text) == (told, told)
    assert list(Player.objects.values_list("nickname", "room__name")) == [("Bob", "hall")]


def test_rows_that_a_caller_may_not_refer_to_do_not_exist() -> None:
    secret, bob = room("secret"), player("Bob", room("hall"))
    client = client_of("view", "change")
    staff = client_of("view", "change", name="sam", is_staff=True)

    refused = client.call("player_update", {"id": bob.pk, "room": secret.pk}).text
    absent = client.call("player_update", {"id": bob.pk, "room": 999_999}).text

    assert refused == absent.replace("999999", str(secret.pk))
    assert "does not exist" in refused
    assert not staff.call("player_update", {"id": bob.pk, "room": secret.pk}).is_error


def test_the_product_sets_what_callers_do_not() -> None:
    class Announcing(ModelTools):
        def prepare(self, ctx: Any, row: Any) -> None:
            row.created_by = ctx.user

        def save(self, ctx: Any, row: Any) -> None:
            row.reached = 7
            super().save(ctx, row)

    client = client_for(
        Announcing, Announcement, fields=["id", "reached"], tools=["create"], writable=["message"]
    )

    assert client.call("announcement_create", {"message": "Hello"}).structured["reached"] == 7
    assert Announcement.objects.get().created_by.username == "ada"


@pytest.mark.parametrize("error", [IntegrityError, DataError])
def test_what_only_the_database_refuses_is_a_conflict(error: type[Exception]) -> None:
    class Racing(ModelTools):
        def save(self, ctx: Any, row: Any) -> None:
            raise error("UNIQUE constraint failed: quiz_room.invite_code")

    client = client_for(Racing, tools=["update"], fields=["id"], writable=["name"])

    answer = client.call("room_update", {"id": room().pk, "name": "two"})

    assert answer.is_error
    assert answer.text == "It is in conflict with other rows, or with a rule of the database."


def test_a_text_that_a_database_cannot_keep_breaks_nothing() -> None:
    """PostgreSQL keeps no NUL, not in JSON either."""
    match = Match.objects.create(
        room=room(), topic="capitals", difficulty="easy", question_count=1, player_count=1
    )
    client = client_for(
        model=MatchEvent,
        fields=["id"],
        tools=["create"],
        writable=["match", "kind", "data"],
    )
    kind = MatchEvent._meta.get_field("kind").choices[0][0]

    client.call("matchevent_create", {"match": str(match.pk), "kind": kind, "data": {"x": "\0"}})

    assert CallEvent.objects.get().outcome in ("ok", "error")


def test_a_deletion_takes_nothing_along_that_the_user_may_not_delete() -> None:
    hall = room("hall")
    player("Bob", hall)
    client = client_for(tools=["delete"], fields=["id"])

    kept = client.call("room_delete", {"id": hall.pk})
    assert kept.is_error
    assert kept.text == "It cannot be deleted: players would go with it, which you may not delete."
    may(get_user_model().objects.get(username="ada"), "delete_player")
    assert client.call("room_delete", {"id": hall.pk}).text == "Deleted."
    assert not Player.objects.exists()


def test_a_deletion_reaches_through_what_it_takes_along() -> None:
    bob = player("Bob")
    now = timezone.now()
    match = Match.objects.create(
        room=bob.room, topic="capitals", difficulty="easy", question_count=1, player_count=1
    )
    question = MatchQuestion.objects.create(
        match=match, number=1, prompt="?", correct_index=0, opened_at=now, closes_at=now
    )
    MatchAnswer.objects.create(
        question=question, player=bob, choice=0, correct=True, points=1, milliseconds=1
    )

    answer = client_of("view", "delete").call("player_delete", {"id": bob.pk})

    assert "match answers would go with it" in answer.text
    assert MatchAnswer.objects.exists()


def test_what_is_written_and_never_shown_is_in_no_answer_and_no_log() -> None:
    client = client_for(tools=["update"], fields=["id"], writable=["closed_reason"])
    hall = room()

    answer = client.call("room_update", {"id": hall.pk, "closed_reason": "a quarrel"})

    assert answer.structured == {"id": hall.pk}
    hall.refresh_from_db()
    assert hall.closed_reason == "a quarrel"
    assert "quarrel" not in str(CallEvent.objects.get(tool="room_update").arguments)


@isolate_apps("tests.integrations")
def test_what_the_database_computes_is_not_asked_of_a_new_row() -> None:
    class Book(models.Model):
        pages = models.IntegerField()
        sides = models.GeneratedField(
            expression=models.F("pages") * 2, output_field=models.IntegerField(), db_persist=True
        )

        class Meta:
            app_label = "integrations"

    assert held(Book(pages=3)) == {"id": None, "pages": 3}


def test_numbers_and_moments_arrive_as_the_model_has_them() -> None:
    counts = dict.fromkeys(("players", "answers", "correct", "points"), 1)
    client = client_for(
        model=CountryStatistic,
        fields=["id", "updated_at"],
        tools=["create"],
        writable=["country", "game_type", "difficulty", *counts, "updated_at"],
    )
    sent = {"country": "NO", "game_type": "solo", "difficulty": "easy", **counts}
    then = {"updated_at": "2026-03-14T15:09:00+01:00"}

    made = client.call("countrystatistic_create", sent | then)

    assert not made.is_error, made.text
    row = CountryStatistic.objects.get()
    assert row.updated_at == dt.datetime(2026, 3, 14, 14, 9, tzinfo=dt.UTC)
    assert "points" in client.call("countrystatistic_create", sent | {"points": -1}).text
