"""A host's own user model, whose key is a UUID."""

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models


class Person(AbstractUser):
    """A user with a key that no sequence gave."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
