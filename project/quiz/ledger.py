"""The signed record of a solo round: how it is written, and how it is checked and scored.

The ledger names the parameters of the round, not its questions: a replay generates them again.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from django.core.signing import BadSignature, Signer
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from project.quiz.choices import Difficulty, Region
from project.quiz.questions import OPTIONS
from project.quiz.rounds import solo_session
from project.quiz.scoring import FASTEST_MS, TIME_LIMIT_MS, points

Rejection = Literal["signature", "format", "answers", "timing"]
REJECTIONS: tuple[Rejection, ...] = ("signature", "format", "answers", "timing")


class LedgerAnswer(BaseModel):
    """The option chosen, from 0, or None where the time ran out; and the time taken."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    choice: Annotated[int, Field(ge=0, lt=OPTIONS)] | None
    milliseconds: Annotated[int, Field(ge=0)]


class SoloLedger(BaseModel):
    """A finished solo round: who played it, its parameters, and one answer for each question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    player: Annotated[str, Field(min_length=1, max_length=30)]
    difficulty: Difficulty
    region: Region | None
    count: Annotated[int, Field(ge=1, le=250)]
    seed: Annotated[int, Field(ge=0, lt=2**31)]
    answers: list[LedgerAnswer]


@dataclass(frozen=True)
class Replay:
    """The verdict on a ledger; a rejected one has a reason, no player and no points."""

    accepted: bool
    rejection: Rejection | None = None
    player: str | None = None
    questions: int = 0
    correct: int = 0
    points: int = 0


def sign(ledger: SoloLedger) -> str:
    """Return the text that the game hands to the player at the end of a round."""
    return _signer().sign_object(ledger.model_dump(mode="json"), compress=True)


def replay(text: str) -> Replay:
    """Check the signature, the form and the answers of a ledger and score it; stores nothing."""
    try:
        ledger = SoloLedger.model_validate(_signer().unsign_object(text))
    except BadSignature:
        return Replay(accepted=False, rejection="signature")
    except ValueError as error:  # a ValidationError is one; so is signed text that is not JSON
        return Replay(accepted=False, rejection=_form(error))
    rejection = _rejection(ledger)
    return Replay(accepted=False, rejection=rejection) if rejection else _score(ledger)


def _signer() -> Signer:
    return Signer(salt="quiz.solo-ledger")


def _form(error: ValueError) -> Rejection:
    if isinstance(error, ValidationError) and error.errors()[0]["loc"][:1] == ("answers",):
        return "answers"
    return "format"


def _rejection(ledger: SoloLedger) -> Rejection | None:
    if len(ledger.answers) != ledger.count:
        return "answers"
    times = [answer.milliseconds for answer in ledger.answers if answer.choice is not None]
    if any(not FASTEST_MS <= time <= TIME_LIMIT_MS for time in times):
        return "timing"
    return None


def _score(ledger: SoloLedger) -> Replay:
    session = solo_session(ledger.difficulty, ledger.region, ledger.count, ledger.seed)
    right = [
        answer.milliseconds
        for question, answer in zip(session.questions, ledger.answers, strict=True)
        if answer.choice == question.answer_index
    ]
    return Replay(
        accepted=True,
        player=ledger.player,
        questions=ledger.count,
        correct=len(right),
        points=sum(points(ledger.difficulty, correct=True, milliseconds=ms) for ms in right),
    )
