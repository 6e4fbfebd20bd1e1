"""Which countries' players do best."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Sum

from project.quiz.choices import Difficulty, GameType
from project.quiz.countries import BY_CODE
from project.quiz.models import CountryStatistic


@dataclass(frozen=True)
class CountryStanding:
    """A country's place; `accuracy` is the percentage of correct answers, to one decimal."""

    rank: int
    country: str
    name: str
    players: int
    points: int
    accuracy: Decimal


@dataclass(frozen=True)
class CountryLeaderboard:
    """The best countries by points; None means every difficulty or every game type."""

    difficulty: Difficulty | None
    game_type: GameType | None
    countries: int
    standings: list[CountryStanding]


def country_leaderboard(
    difficulty: Difficulty | None, game_type: GameType | None, *, limit: int
) -> CountryLeaderboard:
    """Return the first `limit` countries; `countries` says how many there are."""
    asked = {"difficulty": difficulty, "game_type": game_type}
    chosen = CountryStatistic.objects.filter(**{k: v for k, v in asked.items() if v is not None})
    totals = (
        chosen.values("country")
        .annotate(
            all_players=Sum("players"),
            all_points=Sum("points"),
            all_answers=Sum("answers"),
            all_correct=Sum("correct"),
        )
        .order_by("-all_points", "country")
    )
    return CountryLeaderboard(
        difficulty=difficulty,
        game_type=game_type,
        countries=chosen.values("country").distinct().order_by().count(),
        standings=[_standing(rank, row) for rank, row in enumerate(totals[:limit], start=1)],
    )


def _standing(rank: int, row: Mapping[str, Any]) -> CountryStanding:
    known = BY_CODE.get(row["country"])
    return CountryStanding(
        rank=rank,
        country=row["country"],
        name=known.name if known else row["country"],
        players=row["all_players"],
        points=row["all_points"],
        accuracy=_percentage(row["all_correct"], row["all_answers"]),
    )


def _percentage(part: int, whole: int) -> Decimal:
    return round(Decimal(100 * part) / whole, 1) if whole else Decimal("0.0")
