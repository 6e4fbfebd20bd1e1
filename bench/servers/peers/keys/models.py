"""One token a row, by the SHA-256 of its secret."""

from django.db import models


class Key(models.Model):
    """A token."""

    digest = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=100)

    class Meta:
        app_label = "keys"

    def __str__(self) -> str:
        return self.name
