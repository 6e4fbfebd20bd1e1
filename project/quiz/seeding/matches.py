"""Example matches: each is played question by question, so that all its rows agree."""

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from project.quiz.choices import (
    Difficulty,
    MatchEventKind,
    MatchStatus,
    RoomStatus,
    Severity,
    Topic,
)
from project.quiz.models import Match, MatchAnswer, MatchEvent, MatchQuestion, Player, Room
from project.quiz.questions import Question
from project.quiz.randomness import seeded
from project.quiz.rounds import match_questions
from project.quiz.scoring import TIME_LIMIT_MS, points

QUESTIONS = 8
TIME_LIMIT = dt.timedelta(milliseconds=TIME_LIMIT_MS)
PER_QUESTION = dt.timedelta(seconds=30)
_SKILL = {Difficulty.EASY: 0.85, Difficulty.MEDIUM: 0.6, Difficulty.HARD: 0.4}


@dataclass
class Record:
    """The rows of all matches, gathered to be written at once."""

    matches: list[Match] = field(default_factory=list)
    questions: list[MatchQuestion] = field(default_factory=list)
    answers: list[MatchAnswer] = field(default_factory=list)
    events: list[MatchEvent] = field(default_factory=list)

    def save(self) -> None:
        """Write everything, what is referred to first."""
        Match.objects.bulk_create(self.matches)
        MatchQuestion.objects.bulk_create(self.questions, batch_size=500)
        MatchAnswer.objects.bulk_create(self.answers, batch_size=500)
        MatchEvent.objects.bulk_create(self.events, batch_size=500)


def seed_matches(rooms: Sequence[Room], now: dt.datetime) -> None:
    """Play three matches in every room that is over, and one up to now where players play."""
    rng = seeded("seed", "matches")
    record = Record()
    for room in rooms:
        if room.status == RoomStatus.PLAYING:
            revealed = rng.randrange(2, 6)
            start = now - revealed * PER_QUESTION - dt.timedelta(seconds=5)
            Game(room, start, record, rng).play(revealed, running=True)
        elif room.status != RoomStatus.LOBBY:
            for index in range(3):
                start = room.created_at + dt.timedelta(minutes=3 + 10 * index)
                Game(room, start, record, rng).play(QUESTIONS, running=False)
    record.save()


class Game:
    """One match while it is being played."""

    def __init__(self, room: Room, start: dt.datetime, record: Record, rng: Random) -> None:
        self.record = record
        self.rng = rng
        self.difficulty = Difficulty(room.difficulty)
        self.players: list[Player] = list(room.players.all())
        self.totals: Counter[str] = Counter()
        self.match = Match(
            id=uuid.UUID(int=rng.getrandbits(128), version=4),
            room=room,
            topic=room.topic,
            difficulty=room.difficulty,
            question_count=QUESTIONS,
            player_count=len(self.players),
            started_at=start,
        )
        record.matches.append(self.match)

    def play(self, revealed: int, *, running: bool) -> None:
        """Play `revealed` questions to their end; a running match has one more that is open."""
        topic = Topic(self.match.topic)
        self._event(self.match.started_at, MatchEventKind.STARTED, players=len(self.players))
        asked = match_questions(topic, self.difficulty, QUESTIONS, self.rng)
        for question in asked[: revealed + running]:
            self._ask(question, is_open=question.number > revealed)
        if not running:
            self._finish()

    def _ask(self, question: Question, *, is_open: bool) -> None:
        opened_at = self.match.started_at + (question.number - 1) * PER_QUESTION
        closes_at = opened_at + TIME_LIMIT
        row = MatchQuestion(
            match=self.match,
            number=question.number,
            prompt=question.prompt,
            options=question.options,
            correct_index=question.answer_index,
            opened_at=opened_at,
            closes_at=closes_at,
            revealed_at=None if is_open else closes_at,
        )
        self.record.questions.append(row)
        self._event(opened_at, MatchEventKind.QUESTION_OPENED, row.number)
        # Nobody has taken longer over an open question than it has been open.
        slowest = 4_500 if is_open else TIME_LIMIT_MS
        times = sorted((self.rng.randrange(900, slowest), n) for n in range(len(self.players)))
        for milliseconds, n in times:
            self._answer(row, self.players[n], milliseconds)
        if not is_open:
            self._event(closes_at, MatchEventKind.QUESTION_REVEALED, row.number)

    def _answer(self, question: MatchQuestion, player: Player, milliseconds: int) -> None:
        at = question.opened_at + dt.timedelta(milliseconds=milliseconds)
        if self.rng.random() < 0.03:
            self._drop(question, player, at)
            return
        choice = self._choose(question)
        correct = choice == question.correct_index
        won = points(self.difficulty, correct=correct, milliseconds=milliseconds)
        self.record.answers.append(
            MatchAnswer(
                question=question,
                player=player,
                choice=choice,
                correct=correct,
                points=won,
                milliseconds=milliseconds,
            )
        )
        self.totals[player.nickname] += won
        kind = MatchEventKind.ANSWER_RECEIVED
        facts = {"correct": correct, "points": won, "milliseconds": milliseconds}
        self._event(at, kind, question.number, player.nickname, **facts)

    def _choose(self, question: MatchQuestion) -> int:
        if self.rng.random() < _SKILL[self.difficulty]:
            return question.correct_index
        return self.rng.randrange(len(question.options))

    def _drop(self, question: MatchQuestion, player: Player, at: dt.datetime) -> None:
        seconds = self.rng.randrange(1, 9)
        number, name = question.number, player.nickname
        self._event(at, MatchEventKind.PLAYER_DROPPED, number, name, transport="websocket")
        if question.revealed_at is not None:
            back = at + dt.timedelta(seconds=seconds)
            self._event(back, MatchEventKind.PLAYER_RETURNED, number, name, away_seconds=seconds)

    def _finish(self) -> None:
        end = self.match.started_at + QUESTIONS * PER_QUESTION
        self.match.status = MatchStatus.FINISHED
        self.match.ended_at = end
        best = self.totals.most_common(1)
        self.match.winner = best[0][0] if best else ""
        self._event(end, MatchEventKind.FINISHED, nickname=self.match.winner)

    def _event(
        self,
        at: dt.datetime,
        kind: MatchEventKind,
        question_number: int | None = None,
        nickname: str = "",
        **facts: str | int | bool,
    ) -> None:
        dropped = kind is MatchEventKind.PLAYER_DROPPED
        self.record.events.append(
            MatchEvent(
                match=self.match,
                at=at,
                kind=kind,
                severity=Severity.WARNING if dropped else Severity.INFO,
                question_number=question_number,
                nickname=nickname,
                data=facts,
            )
        )
