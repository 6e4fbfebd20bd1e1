"""Notes."""

from django.db import models


class Note(models.Model):
    """One note."""

    title = models.CharField(max_length=100)

    class Meta:
        app_label = "notes"

    def __str__(self) -> str:
        return self.title
