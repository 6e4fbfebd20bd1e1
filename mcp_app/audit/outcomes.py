"""Outcomes in four groups: what an administrator asks of many calls before looking at one.

`MEANINGS` is where each is explained; pages that name outcomes or groups use their labels.
"""

from collections.abc import Mapping
from typing import Any, Final

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

NOT_OK: Final = "not_ok"
"""What a filter says for every group but `OutcomeGroup.OK`."""

RESULTS: Final[Mapping[str, tuple[CallOutcome, ...]]] = {
    **{group.value: outcomes for group, outcomes in GROUPS.items()},
    NOT_OK: tuple(each for each in CallOutcome if each not in GROUPS[OutcomeGroup.OK]),
}
"""What a filter may be set to, and the outcomes that it then admits."""

GROUP_MEANINGS: Final[Mapping[OutcomeGroup, Any]] = {
    OutcomeGroup.OK: _("It ran, and was answered."),
    OutcomeGroup.FAILED: _("It ran, and did not come to a good end."),
    OutcomeGroup.TURNED_AWAY: _("It did not run: something that was asked before it said no."),
    OutcomeGroup.UNFINISHED: _("It runs, was given up, or waits for its client."),
}
MEANINGS: Final[dict[str, Any]] = {
    CallOutcome.OK: _("The caller has the result."),
    CallOutcome.ERROR: _("The tool answered with an error that its caller can read and act on."),
    CallOutcome.FAILED: _("It broke with an exception that nobody expected."),
    CallOutcome.TIMEOUT: _("It ran longer than its limit, and was given up."),
    CallOutcome.DENIED: _("The user, or the token, may not do this; or a person said no."),
    CallOutcome.REFUSED: _("The request could not be taken as it was sent."),
    CallOutcome.UNKNOWN: _("It asked for something that does not exist."),
    CallOutcome.INVALID: _("An argument does not fit what is declared."),
    CallOutcome.UNAUTHENTICATED: _("It came without a good secret."),
    CallOutcome.THROTTLED: _("It came too often."),
    CallOutcome.STARTED: _("It runs, or its process died: no end is recorded."),
    CallOutcome.WAITING: _("A person is asked whether it may run."),
    CallOutcome.CANCELLED: _("Its client, or an administrator, stopped it."),
    CallOutcome.ASKED: _("Its client was asked for input, and is to call again."),
}

GROUP_OF: Final[Mapping[str, OutcomeGroup]] = {
    outcome.value: group for group, outcomes in GROUPS.items() for outcome in outcomes
}
