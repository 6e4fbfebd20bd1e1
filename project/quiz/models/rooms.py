"""Rooms and the players in them."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from project.quiz.choices import Difficulty, RoomStatus, Topic


class Room(models.Model):
    """A place where players gather by invite code and play matches."""

    invite_code = models.CharField(max_length=6, unique=True)
    name = models.CharField(max_length=80)
    status = models.CharField(max_length=8, choices=RoomStatus, default=RoomStatus.LOBBY)
    topic = models.CharField(max_length=11, choices=Topic)
    difficulty = models.CharField(max_length=6, choices=Difficulty)
    max_players = models.PositiveSmallIntegerField(default=8)
    created_at = models.DateTimeField(default=timezone.now)
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_reason = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering: ClassVar = ["-created_at", "-id"]
        indexes: ClassVar = [
            models.Index(fields=["status", "-created_at"], name="quiz_room_status"),
            models.Index(fields=["-created_at", "-id"], name="quiz_room_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.invite_code})"


class Player(models.Model):
    """One person in one room. The score follows from the answers and is not kept here."""

    room = models.ForeignKey(Room, on_delete=models.CASCADE, related_name="players")
    nickname = models.CharField(max_length=30)
    country = models.CharField(max_length=2, help_text="ISO 3166 code of the player's country")
    is_host = models.BooleanField(default=False)
    joined_at = models.DateTimeField(default=timezone.now)
    left_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["joined_at", "id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["room", "nickname"], name="quiz_player_nickname"),
        ]

    def __str__(self) -> str:
        return self.nickname
