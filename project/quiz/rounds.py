"""The daily and the solo rounds: the same questions for the same date or parameters, anywhere."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

from project.quiz.choices import Difficulty, Region, Topic
from project.quiz.countries import COUNTRIES, Country
from project.quiz.errors import Refused
from project.quiz.questions import Question, make_question
from project.quiz.randomness import seeded

DAILY_PLAN = ((Difficulty.EASY, 4), (Difficulty.MEDIUM, 4), (Difficulty.HARD, 2))


@dataclass(frozen=True)
class DailySession:
    """The round that everybody plays on one date; days begin at midnight UTC."""

    date: dt.date
    questions: list[Question]


@dataclass(frozen=True)
class SoloSession:
    """A round for one player; a repeat comes only after every distinct question was asked."""

    difficulty: Difficulty
    region: Region | None
    seed: int
    count: int
    distinct: int
    questions: list[Question]


def daily_session(date: dt.date, *, today: dt.date) -> DailySession:
    """Return the round of `date`. Raises `Refused` for a date after `today`."""
    if date > today:
        raise Refused(f"The round of {date} is not public yet; today is {today} (UTC).")
    rng = seeded("daily", date.isoformat())
    # No country comes twice: "the capital of France" would answer "which country has Paris ...?".
    countries = [
        country
        for difficulty, count in DAILY_PLAN
        for country in rng.sample(_familiar(difficulty), count)
    ]
    drawn = [(rng.choice(list(Topic)), country) for country in countries]
    return DailySession(date=date, questions=_ask(drawn, rng))


def solo_session(
    difficulty: Difficulty, region: Region | None, count: int, seed: int = 0
) -> SoloSession:
    """Return `count` questions; a shorter session is the beginning of a longer one."""
    key = ("solo", difficulty.value, region.value if region else "", seed)
    pool = _pool(difficulty, region)
    drawn = list(islice(_cycle(pool, seeded(*key, "order")), count))
    return SoloSession(
        difficulty=difficulty,
        region=region,
        seed=seed,
        count=count,
        distinct=min(count, len(pool)),
        questions=_ask(drawn, seeded(*key, "options")),
    )


def match_questions(
    topic: Topic, difficulty: Difficulty, count: int, rng: Random
) -> list[Question]:
    """Return the questions of a match in a room, each about another country."""
    drawn = [(topic, country) for country in rng.sample(_familiar(difficulty), count)]
    return _ask(drawn, rng)


def _familiar(difficulty: Difficulty) -> list[Country]:
    return [country for country in COUNTRIES if country.familiarity is difficulty]


def _pool(difficulty: Difficulty, region: Region | None) -> list[tuple[Topic, Country]]:
    # A round about one region would give the answer to "In which region ...?" away.
    topics = [topic for topic in Topic if not (region and topic is Topic.REGIONS)]
    return [
        (topic, country)
        for country in _familiar(difficulty)
        if region in (None, country.region)
        for topic in topics
    ]


def _cycle(pool: list[tuple[Topic, Country]], rng: Random) -> Iterator[tuple[Topic, Country]]:
    while True:
        yield from rng.sample(pool, len(pool))


def _ask(drawn: list[tuple[Topic, Country]], rng: Random) -> list[Question]:
    return [
        make_question(number, topic, country, rng)
        for number, (topic, country) in enumerate(drawn, start=1)
    ]
