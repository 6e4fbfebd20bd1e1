"""Example statistics of every country's players."""

import datetime as dt
from collections.abc import Iterator
from random import Random

from project.quiz.choices import Difficulty, GameType
from project.quiz.countries import COUNTRIES
from project.quiz.models import CountryStatistic
from project.quiz.randomness import seeded
from project.quiz.scoring import points

_ACCURACY = {Difficulty.EASY: 0.82, Difficulty.MEDIUM: 0.64, Difficulty.HARD: 0.43}
_USUAL_MS = 7_000


def seed_statistics(now: dt.datetime) -> None:
    """Create one row for each country, game type and difficulty."""
    CountryStatistic.objects.bulk_create(_rows(now, seeded("seed", "statistics")), batch_size=500)


def _rows(now: dt.datetime, rng: Random) -> Iterator[CountryStatistic]:
    for country in COUNTRIES:
        for game_type in GameType:
            for difficulty in Difficulty:
                players = rng.randrange(20, 900)
                answers = players * rng.randrange(8, 60)
                correct = int(answers * (_ACCURACY[difficulty] + rng.uniform(-0.1, 0.1)))
                each = points(difficulty, correct=True, milliseconds=_USUAL_MS)
                yield CountryStatistic(
                    country=country.code,
                    game_type=game_type,
                    difficulty=difficulty,
                    players=players,
                    answers=answers,
                    correct=correct,
                    points=correct * each,
                    updated_at=now,
                )
