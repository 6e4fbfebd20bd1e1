"""A solo ledger is believed when its signature, form, answers and times are right."""

import datetime as dt

import pytest
from django.core.cache import cache
from django.core.signing import Signer

from project.quiz.choices import Difficulty, Region
from project.quiz.ledger import LedgerAnswer, SoloLedger, replay, sign
from project.quiz.rejections import count_rejection, rejections
from project.quiz.rounds import solo_session


def play(right: int, count: int = 5, milliseconds: int = 5_000) -> SoloLedger:
    session = solo_session(Difficulty.MEDIUM, Region.EUROPE, count, seed=3)
    answers = [
        LedgerAnswer(
            choice=question.answer_index if question.number <= right else None,
            milliseconds=milliseconds,
        )
        for question in session.questions
    ]
    return SoloLedger(
        player="Ada",
        difficulty=Difficulty.MEDIUM,
        region=Region.EUROPE,
        count=count,
        seed=3,
        answers=answers,
    )


def test_a_true_ledger_is_scored_by_correctness_speed_and_difficulty() -> None:
    verdict = replay(sign(play(right=3)))
    assert verdict.accepted
    assert (verdict.player, verdict.questions, verdict.correct) == ("Ada", 5, 3)
    assert verdict.points == 3 * 2 * (100 + 75)


def test_a_wrong_answer_earns_nothing() -> None:
    ledger = play(right=5)
    worse = [
        answer.model_copy(update={"choice": ((answer.choice or 0) + 1) % 4})
        for answer in ledger.answers
    ]
    verdict = replay(sign(ledger.model_copy(update={"answers": worse})))
    assert (verdict.accepted, verdict.correct, verdict.points) == (True, 0, 0)


def test_a_ledger_changed_in_any_place_is_rejected() -> None:
    signed = sign(play(right=3))
    for place in range(0, len(signed), 7):
        other = "A" if signed[place] != "A" else "B"
        verdict = replay(signed[:place] + other + signed[place + 1 :])
        assert (verdict.accepted, verdict.rejection) == (False, "signature")


@pytest.mark.parametrize("text", ["x", "a:b", ":", "\x00", "é:è", "\ud800"])
def test_text_that_was_never_a_ledger_is_rejected(text: str) -> None:
    verdict = replay(text)
    assert not verdict.accepted
    assert (verdict.player, verdict.points) == (None, 0)


def test_a_signature_made_for_something_else_is_rejected() -> None:
    foreign = Signer(salt="quiz.cursor.matches").sign_object(play(right=1).model_dump(mode="json"))
    assert replay(foreign).rejection == "signature"


@pytest.mark.parametrize(
    ("change", "rejection"),
    [
        ({"version": 2}, "format"),
        ({"difficulty": "absurd"}, "format"),
        ({"count": 251}, "format"),
        ({"extra": 1}, "format"),
        ({"answers": []}, "answers"),
        ({"answers": [{"choice": 4, "milliseconds": 900}] * 5}, "answers"),
        ({"answers": [{"choice": 1, "milliseconds": 20}] * 5}, "timing"),
        ({"answers": [{"choice": 1, "milliseconds": 20_001}] * 5}, "timing"),
    ],
)
def test_a_signed_ledger_that_cannot_be_is_rejected_with_its_reason(
    change: dict[str, object], rejection: str
) -> None:
    payload = play(right=1).model_dump(mode="json") | change
    verdict = replay(Signer(salt="quiz.solo-ledger").sign_object(payload))
    assert (verdict.accepted, verdict.rejection) == (False, rejection)


def test_rejections_are_counted_by_reason_and_day(now: dt.datetime) -> None:
    cache.clear()
    yesterday = now - dt.timedelta(days=1)
    count_rejection("signature", yesterday)
    count_rejection("signature", now)
    count_rejection("timing", now)
    assert rejections(now, now) == {"signature": 1, "format": 0, "answers": 0, "timing": 1}
    assert rejections(yesterday, now)["signature"] == 2
