"""Announcements and the players they have reached."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from project.quiz.models.rooms import Player, Room


class Announcement(models.Model):
    """A message from the back office to one room, or to every open room."""

    room = models.ForeignKey(
        Room, on_delete=models.CASCADE, null=True, blank=True, related_name="announcements"
    )
    message = models.CharField(max_length=280)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    reached = models.PositiveIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["-created_at", "-id"]

    def __str__(self) -> str:
        return self.message[:40]


class Notice(models.Model):
    """An announcement in the inbox of one player."""

    announcement = models.ForeignKey(Announcement, on_delete=models.CASCADE, related_name="notices")
    player = models.ForeignKey(Player, on_delete=models.CASCADE, related_name="notices")
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["announcement", "player"], name="quiz_notice_once"),
        ]

    def __str__(self) -> str:
        return f"Notice {self.pk}"
