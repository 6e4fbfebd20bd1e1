"""What the servers report of themselves: events, and the batches of logs they forward."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from project.quiz.choices import Category, Destination, ForwardingState, Severity
from project.quiz.models.matches import Match


class DiagnosticsEvent(models.Model):
    """Something worth knowing that a server saw; security events among them."""

    at = models.DateTimeField(default=timezone.now)
    category = models.CharField(max_length=10, choices=Category)
    severity = models.CharField(max_length=8, choices=Severity)
    code = models.CharField(max_length=40)
    message = models.CharField(max_length=200)
    node = models.CharField(max_length=20)
    address = models.GenericIPAddressField(null=True, blank=True)
    match = models.ForeignKey(
        Match, on_delete=models.SET_NULL, null=True, blank=True, related_name="diagnostics"
    )

    class Meta:
        ordering: ClassVar = ["-at", "-id"]
        indexes: ClassVar = [
            models.Index(fields=["-at", "-id"], name="quiz_diagnostics_newest"),
            models.Index(fields=["category", "-at"], name="quiz_diagnostics_category"),
        ]

    def __str__(self) -> str:
        return f"{self.code} on {self.node}"


class ForwardingRecord(models.Model):
    """One batch of log lines sent to a destination."""

    at = models.DateTimeField(default=timezone.now)
    destination = models.CharField(max_length=7, choices=Destination)
    state = models.CharField(max_length=9, choices=ForwardingState)
    lines = models.PositiveIntegerField()
    attempts = models.PositiveSmallIntegerField(default=1)
    milliseconds = models.PositiveIntegerField(help_text="How long the last attempt took")
    error = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering: ClassVar = ["-at", "-id"]
        indexes: ClassVar = [
            models.Index(fields=["-at", "-id"], name="quiz_forwarding_newest"),
            models.Index(fields=["destination", "-at"], name="quiz_forwarding_destination"),
        ]

    def __str__(self) -> str:
        return f"{self.lines} lines to {self.destination}"
