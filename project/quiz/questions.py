"""How a question is made of a country and a topic."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

from project.quiz.choices import Difficulty, Population, Region, Topic
from project.quiz.countries import COUNTRIES, Country

OPTIONS = 4


@dataclass(frozen=True)
class Question:
    """A question with four options and the position, from 0, of the right one."""

    number: int
    topic: Topic
    difficulty: Difficulty
    prompt: str
    options: list[str]
    answer_index: int


_PROMPTS: dict[Topic, Callable[[Country], str]] = {
    Topic.CAPITALS: lambda country: f"What is the capital of {country.name}?",
    Topic.COUNTRIES: lambda country: f"Which country has {country.capital} as its capital?",
    Topic.REGIONS: lambda country: f"In which region does {country.name} lie?",
    Topic.POPULATIONS: lambda country: f"How many people live in {country.name}?",
}

_ANSWERS: dict[Topic, Callable[[Country], str]] = {
    Topic.CAPITALS: lambda country: country.capital,
    Topic.COUNTRIES: lambda country: country.name,
    Topic.REGIONS: lambda country: str(country.region.label),
    Topic.POPULATIONS: lambda country: str(country.population.label),
}

_FIXED_OPTIONS: dict[Topic, list[str]] = {
    Topic.REGIONS: [str(label) for label in Region.labels],
    Topic.POPULATIONS: [str(label) for label in Population.labels],
}


def make_question(number: int, topic: Topic, country: Country, rng: Random) -> Question:
    """Return the question about `country`, its options drawn and ordered by `rng`."""
    answer = _ANSWERS[topic](country)
    options = [answer, *_distractors(topic, country, rng)]
    rng.shuffle(options)
    return Question(
        number=number,
        topic=topic,
        difficulty=country.familiarity,
        prompt=_PROMPTS[topic](country),
        options=options,
        answer_index=options.index(answer),
    )


def _distractors(topic: Topic, country: Country, rng: Random) -> list[str]:
    answer = _ANSWERS[topic]
    wrong = _FIXED_OPTIONS.get(topic) or [answer(other) for other in _neighbours(country)]
    return rng.sample([text for text in wrong if text != answer(country)], OPTIONS - 1)


def _neighbours(country: Country) -> Iterable[Country]:
    # A hard question draws its wrong options from the region of the right one.
    if country.familiarity is not Difficulty.HARD:
        return COUNTRIES
    return [other for other in COUNTRIES if other.region is country.region]
