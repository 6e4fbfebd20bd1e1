"""Matches: their questions, the answers to them, and what happened when."""

import uuid
from typing import ClassVar

from django.db import models
from django.utils import timezone

from project.quiz.choices import Difficulty, MatchEventKind, MatchStatus, Severity, Topic
from project.quiz.models.rooms import Player, Room


class Match(models.Model):
    """One game played in a room."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    room = models.ForeignKey(Room, on_delete=models.CASCADE, related_name="matches")
    status = models.CharField(max_length=8, choices=MatchStatus, default=MatchStatus.RUNNING)
    topic = models.CharField(max_length=11, choices=Topic)
    difficulty = models.CharField(max_length=6, choices=Difficulty)
    question_count = models.PositiveSmallIntegerField()
    player_count = models.PositiveSmallIntegerField()
    winner = models.CharField(max_length=30, blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-started_at", "-id"]
        verbose_name_plural = "matches"
        indexes: ClassVar = [
            models.Index(fields=["-started_at", "-id"], name="quiz_match_newest"),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["room"],
                condition=models.Q(status=MatchStatus.RUNNING),
                name="quiz_one_running_match",
            ),
        ]

    def __str__(self) -> str:
        return f"Match {self.id}"


class MatchQuestion(models.Model):
    """A question put to the players; a row exists from the moment it is opened."""

    match = models.ForeignKey(Match, on_delete=models.CASCADE, related_name="questions")
    number = models.PositiveSmallIntegerField()
    prompt = models.CharField(max_length=200)
    options = models.JSONField(default=list)
    correct_index = models.PositiveSmallIntegerField()
    opened_at = models.DateTimeField()
    closes_at = models.DateTimeField()
    revealed_at = models.DateTimeField(
        null=True, blank=True, help_text="Empty while the question is open; points count from here"
    )

    class Meta:
        ordering: ClassVar = ["match", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["match", "number"], name="quiz_question_number"),
        ]

    def __str__(self) -> str:
        return f"Question {self.number} of {self.match_id}"


class MatchAnswer(models.Model):
    """A player's answer to a question."""

    question = models.ForeignKey(MatchQuestion, on_delete=models.CASCADE, related_name="answers")
    player = models.ForeignKey(Player, on_delete=models.CASCADE, related_name="answers")
    choice = models.PositiveSmallIntegerField()
    correct = models.BooleanField()
    points = models.PositiveSmallIntegerField()
    milliseconds = models.PositiveIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["question", "player"], name="quiz_answer_once"),
        ]

    def __str__(self) -> str:
        return f"Answer {self.pk}"


class MatchEvent(models.Model):
    """One line of a match's timeline."""

    match = models.ForeignKey(Match, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(default=timezone.now)
    kind = models.CharField(max_length=17, choices=MatchEventKind)
    severity = models.CharField(max_length=8, choices=Severity, default=Severity.INFO)
    question_number = models.PositiveSmallIntegerField(null=True, blank=True)
    nickname = models.CharField(max_length=30, blank=True)
    data = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering: ClassVar = ["at", "id"]
        indexes: ClassVar = [models.Index(fields=["match", "at"], name="quiz_match_timeline")]

    def __str__(self) -> str:
        return f"{self.kind} at {self.at:%H:%M:%S}"
