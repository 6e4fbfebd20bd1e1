"""The daily and the solo rounds are the same everywhere, and give nothing away early."""

import datetime as dt
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from project.quiz.choices import Difficulty, Region, Topic
from project.quiz.countries import BY_CODE, COUNTRIES
from project.quiz.errors import Refused
from project.quiz.questions import Question
from project.quiz.rounds import DAILY_PLAN, daily_session, solo_session

TODAY = dt.date(2026, 3, 14)

PRINT_ROUNDS = """
import datetime as dt
from project.quiz.choices import Difficulty, Region
from project.quiz.rounds import daily_session, solo_session
print(daily_session(dt.date(2026, 3, 1), today=dt.date(2026, 3, 14)))
print(solo_session(Difficulty.HARD, Region.ASIA, 30, seed=7))
"""


def rounds_of_another_process(hash_seed: str) -> str:
    root = Path(__file__).resolve().parents[2]
    return subprocess.run(
        [sys.executable, "-c", PRINT_ROUNDS],
        cwd=root,
        env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_every_process_generates_the_same_rounds() -> None:
    here = (
        f"{daily_session(dt.date(2026, 3, 1), today=TODAY)}\n"
        f"{solo_session(Difficulty.HARD, Region.ASIA, 30, seed=7)}\n"
    )
    assert rounds_of_another_process("1") == rounds_of_another_process("2") == here


def test_a_daily_round_follows_its_plan_and_asks_of_no_country_twice() -> None:
    questions = daily_session(TODAY, today=TODAY).questions
    assert Counter(question.difficulty for question in questions) == dict(DAILY_PLAN)
    named = [
        {country.code for country in COUNTRIES if _is_about(question, country.name)}
        or {country.code for country in COUNTRIES if _is_about(question, country.capital)}
        for question in questions
    ]
    assert len(set.union(*named)) == len(questions)


def _is_about(question: Question, name: str) -> bool:
    return f" {name}" in question.prompt


def test_each_date_has_its_own_round() -> None:
    week = [TODAY - dt.timedelta(days=n) for n in range(7)]
    prompts = {tuple(q.prompt for q in daily_session(day, today=TODAY).questions) for day in week}
    assert len(prompts) == 7


def test_a_future_round_is_refused() -> None:
    with pytest.raises(Refused, match="not public yet"):
        daily_session(TODAY + dt.timedelta(days=1), today=TODAY)


@pytest.mark.parametrize("region", [None, *Region])
@pytest.mark.parametrize("difficulty", Difficulty)
def test_a_solo_round_has_as_many_questions_as_asked_for(
    difficulty: Difficulty, region: Region | None
) -> None:
    session = solo_session(difficulty, region, 250)
    prompts = [question.prompt for question in session.questions]
    assert len(prompts) == 250
    assert len(set(prompts[: session.distinct])) == session.distinct == len(set(prompts))


def test_a_shorter_solo_round_is_the_beginning_of_a_longer_one() -> None:
    longer = solo_session(Difficulty.EASY, Region.OCEANIA, 200).questions
    assert solo_session(Difficulty.EASY, Region.OCEANIA, 5).questions == longer[:5]


def test_another_seed_gives_another_solo_round() -> None:
    first, second = (solo_session(Difficulty.EASY, None, 10, seed) for seed in (1, 2))
    assert first.questions != second.questions


def test_a_solo_round_about_a_region_does_not_ask_for_the_region() -> None:
    questions = solo_session(Difficulty.MEDIUM, Region.AFRICA, 100).questions
    assert Topic.REGIONS not in {question.topic for question in questions}


def test_every_question_has_four_different_options_and_one_right_answer() -> None:
    for difficulty in Difficulty:
        for question in solo_session(difficulty, None, 250).questions:
            assert len(set(question.options)) == 4
            assert 0 <= question.answer_index < 4


def test_capitals_and_names_belong_to_one_country_each() -> None:
    assert len(BY_CODE) == len(COUNTRIES) >= 60
    assert len({country.capital for country in COUNTRIES}) == len(COUNTRIES)
    assert len({country.name for country in COUNTRIES}) == len(COUNTRIES)
