"""What was done to a row, from the admin's own log: who did it, and when."""

from typing import Final

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model

MOST: Final = 10


def history(row: Model) -> list[LogEntry]:
    """The latest entries about a row, newest first; its page "History" has them all."""
    kind = ContentType.objects.get_for_model(row)
    entries = LogEntry.objects.filter(content_type=kind, object_id=str(row.pk))
    return list(entries.select_related("user").order_by("-action_time", "-pk")[:MOST])
