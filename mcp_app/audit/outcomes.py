"""Outcomes in four groups: what an administrator asks of many calls before looking at one."""

from collections.abc import Mapping
from typing import Final

from django.db import models
from django.utils.translation import gettext_lazy as _

from mcp_app.models import UNENDED, CallOutcome


class OutcomeGroup(models.TextChoices):
    """How calls went. `UNFINISHED` ones run, were given up, or wait for their client."""

    OK = "ok", _("OK")
    FAILED = "failed", _("Went wrong")
    TURNED_AWAY = "turned_away", _("Turned away")
    UNFINISHED = "unfinished", _("Not finished")


GROUPS: Final[Mapping[OutcomeGroup, tuple[CallOutcome, ...]]] = {
    OutcomeGroup.OK: (CallOutcome.OK,),
    OutcomeGroup.FAILED: (CallOutcome.ERROR, CallOutcome.FAILED, CallOutcome.TIMEOUT),
    OutcomeGroup.TURNED_AWAY: (
        CallOutcome.DENIED,
        CallOutcome.REFUSED,
        CallOutcome.UNKNOWN,
        CallOutcome.INVALID,
        CallOutcome.UNAUTHENTICATED,
        CallOutcome.THROTTLED,
    ),
    OutcomeGroup.UNFINISHED: (*UNENDED, CallOutcome.CANCELLED, CallOutcome.ASKED),
}
"""Every outcome is in one group."""

GROUP_OF: Final[Mapping[str, OutcomeGroup]] = {
    outcome.value: group for group, outcomes in GROUPS.items() for outcome in outcomes
}
