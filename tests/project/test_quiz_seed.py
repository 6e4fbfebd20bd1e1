"""The example data: quick, the same every time, made once, and true to the game's rules."""

import datetime as dt
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db.models import Count, Sum
from django.test import Client
from django.urls import reverse

from project.quiz.choices import MatchStatus, RoomStatus
from project.quiz.ledger import replay
from project.quiz.models import (
    Announcement,
    CountryStatistic,
    DiagnosticsEvent,
    ForwardingRecord,
    Match,
    MatchAnswer,
    MatchEvent,
    MatchQuestion,
    Player,
    Room,
)
from project.quiz.retention import RETENTION
from project.quiz.seeding import seed
from project.quiz.services.game_state import game_state

pytestmark = pytest.mark.django_db

MODELS = (
    Room,
    Player,
    Match,
    MatchQuestion,
    MatchAnswer,
    MatchEvent,
    DiagnosticsEvent,
    ForwardingRecord,
    CountryStatistic,
)


def counts() -> dict[str, int]:
    return {model.__name__: model._default_manager.count() for model in MODELS}


def content() -> list[object]:
    return [
        list(Room.objects.order_by("invite_code").values_list("invite_code", "name", "created_at")),
        list(Match.objects.order_by("id").values_list("id", "winner", "started_at")),
        list(DiagnosticsEvent.objects.order_by("at", "code").values_list("at", "code", "address")),
        MatchAnswer.objects.aggregate(Sum("points"), Sum("milliseconds"), Count("id")),
        CountryStatistic.objects.aggregate(Sum("points")),
    ]


def test_seeding_again_changes_nothing(now: dt.datetime) -> None:
    assert seed(now)
    first = counts()
    assert all(first.values())
    assert not seed(now + dt.timedelta(hours=1))
    assert counts() == first


def test_seeding_afresh_gives_the_same_data(now: dt.datetime) -> None:
    seed(now)
    first = content()
    Announcement.objects.create(message="Left over")
    Announcement.objects.create(message="Left over", room=Room.objects.first())
    assert seed(now, fresh=True)
    assert content() == first
    assert not Announcement.objects.exists()


def test_the_data_cover_the_seven_days_and_no_more(now: dt.datetime) -> None:
    seed(now)
    for queryset in (DiagnosticsEvent.objects.all(), ForwardingRecord.objects.all()):
        moments = list(queryset.order_by("at").values_list("at", flat=True))
        assert now - RETENTION <= moments[0] + dt.timedelta(seconds=1)
        assert moments[-1] <= now
        assert {(now - moment).days for moment in moments} >= set(range(7))


def test_only_running_matches_have_an_open_question_and_each_has_one(now: dt.datetime) -> None:
    seed(now)
    still_open = MatchQuestion.objects.filter(revealed_at__isnull=True)
    running = Match.objects.filter(status=MatchStatus.RUNNING)
    assert still_open.count() == running.count() == 8
    assert not still_open.exclude(match__in=running).exists()
    assert game_state("PLAY42", now=now).phase == "question_open"
    assert not MatchEvent.objects.filter(at__gt=now).exists()


def test_the_winner_has_the_most_points(now: dt.datetime) -> None:
    seed(now)
    for room in Room.objects.filter(status=RoomStatus.FINISHED)[:10]:
        match = room.matches.first()
        assert match is not None
        best = game_state(room.invite_code, now=now).leaderboard[0]
        tied = [
            s.nickname
            for s in game_state(room.invite_code, now=now).leaderboard
            if s.points == best.points
        ]
        assert match.winner in tied


def test_the_command_makes_the_group_and_no_user() -> None:
    out = StringIO()
    call_command("seed_quiz", stdout=out)
    call_command("seed_quiz", stdout=out)
    call_command("seed_quiz", "--fresh", stdout=out)
    assert [line.split()[0] for line in out.getvalue().splitlines()] == [
        "Created",
        "Kept",
        "Created",
    ]
    assert Group.objects.filter(name="support").exists()
    assert not get_user_model().objects.exists()


def test_old_data_are_named_as_such(now: dt.datetime) -> None:
    seed(now - dt.timedelta(days=3_000))
    out = StringIO()
    call_command("seed_quiz", stdout=out)
    assert "--fresh" in out.getvalue()


def test_the_sample_ledger_is_accepted() -> None:
    out = StringIO()
    call_command("sample_ledger", "--difficulty", "hard", "--count", "4", stdout=out)
    verdict = replay(out.getvalue().strip())
    assert (verdict.accepted, verdict.questions, verdict.correct) == (True, 4, 2)


def test_the_admin_lists_and_shows_the_data(
    admin_client: Client, now: dt.datetime, subtests: pytest.Subtests
) -> None:
    seed(now)
    for model in (Room, Match, CountryStatistic, DiagnosticsEvent, ForwardingRecord):
        with subtests.test(model.__name__):
            assert_listed_and_shown(model._meta.model_name, admin_client)


def assert_listed_and_shown(model: str | None, admin_client: Client) -> None:
    listed = admin_client.get(reverse(f"admin:quiz_{model}_changelist"))
    assert listed.status_code == 200
    row = listed.context["cl"].result_list[0]
    shown = admin_client.get(reverse(f"admin:quiz_{model}_change", args=[row.pk]))
    assert shown.status_code == 200
