"""What the players of each country have achieved, summed up."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from project.quiz.choices import Difficulty, GameType


class CountryStatistic(models.Model):
    """The totals of one country's players in one game type at one difficulty."""

    country = models.CharField(max_length=2, help_text="ISO 3166 code of the players' country")
    game_type = models.CharField(max_length=5, choices=GameType)
    difficulty = models.CharField(max_length=6, choices=Difficulty)
    players = models.PositiveIntegerField()
    answers = models.PositiveIntegerField()
    correct = models.PositiveIntegerField()
    points = models.PositiveIntegerField()
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["-points", "country"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["country", "game_type", "difficulty"], name="quiz_country_statistic"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.country} {self.game_type} {self.difficulty}"
