"""Which gate decided a call, read from its row alone: decision, outcome, error class, error text.

Knows the words that dispatch writes there. What no field tells is told as not recorded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from mcp_app.audit.credentials import FOUND, NOTHING_KNOWN
from mcp_app.dispatch.interfaces import (
    NOT_PERMITTED,
    PERMISSION_DENIED,
    WHILE_ASKED,
    WITHDRAWN,
    Decision,
    Outcome,
)
from mcp_app.models import CallEvent


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate by its name, and what it asks or found, in a sentence.

    Attributes:
        code: what the row holds of it: the name of a hook, or nothing.
        ending: how the call ended by it, in a sentence; nothing where its outcome says enough.
    """

    name: Any
    told: Any
    code: str = ""
    ending: Any = ""


_DOOR: Final = Gate(
    _("The form of the request"),
    _("It was turned away before anybody looked at what it asks for."),
)
_NAME: Final = Gate(_("Name"), _("There is nothing of that name on this server."))
_PERMISSION: Final = Gate(
    _("Permission classes"),
    _("It exists, and its permission classes refused this user. The caller read that it does not."),
    ending=_("The user may not do this."),
)
_THROTTLE: Final = Gate(_("Rate limit"), _("It came sooner than a throttle class admits."))
_CAPABILITIES: Final = Gate(
    _("Capabilities of the client"),
    _("It needs a capability that the client did not declare."),
)


def _unconfirmed(ending: Any) -> Gate:
    return Gate(_("Confirmation"), _("A person had to agree, and none has."), ending=ending)


_BY_ERROR: Final[Mapping[str, Gate]] = {
    "ParseError": _DOOR,
    "InvalidRequest": _DOOR,
    "HeaderMismatch": Gate(_("Headers"), _("A header is missing, or says other than the body.")),
    "InvalidParams": Gate(_("Parameters"), _("They do not fit the method.")),
    "UnsupportedVersion": Gate(_("Protocol version"), _("It names one that is not served.")),
    # Origins are refused before there is a row: where there is one, a class of the product spoke.
    "Forbidden": Gate(
        _("Authentication"), _("An authentication class refused, for more than a bad credential.")
    ),
    "SessionNotFound": Gate(_("Session"), _("It names a session that is not this caller's.")),
    "SwitchedOff": Gate(
        _("Switch"),
        _("An administrator has switched it off, or the whole server, for a while."),
        ending=_("It, or its whole server, was switched off then."),
    ),
    "SwitchesUnavailable": Gate(
        _("Switch"),
        _("What is switched off could not be read, and nothing is to run unasked."),
        ending=_("Nobody could tell whether it is switched off, so it did not run."),
    ),
    "OutsideLimits": Gate(
        _("Limits of the token"),
        _("The user may; the token is limited to other tools, or to reading."),
        ending=_("The user may do this, but not with this token."),
    ),
    "InsufficientScope": Gate(
        _("Scopes of the token"),
        _("The user may; the token lacks a scope that is needed."),
        ending=_("The user may do this, but not with this token."),
    ),
    "Throttled": _THROTTLE,
    "LimitsUnavailable": Gate(
        _("Rate limit"), _("Calls could not be counted, and none is to go uncounted.")
    ),
    "MissingCapability": _CAPABILITIES,
    "CapabilityNotNegotiated": _CAPABILITIES,
    "NotConfirmed": _unconfirmed(
        _("The user could not be asked whether it may run, so it did not.")
    ),
    "Declined": _unconfirmed(_("The user said no.")),
    "Dismissed": _unconfirmed(_("The user closed the question without an answer.")),
    "NotAnswered": _unconfirmed(_("Nobody answered in time whether it may run.")),
    "QuestionChanged": _unconfirmed(
        _("The question changed each time the user answered it, so it did not run.")
    ),
}
_LATE: Final = "the requestState has expired"
_WITHDRAWN: Final[Mapping[str, Any]] = {
    "Unauthenticated": _("Authentication"),
    "UnknownTool": _("Name"),
    PERMISSION_DENIED: _PERMISSION.name,
}
"""Gates that have other names where they let a call in no more."""
_INCAPABLE: Final = frozenset({"MissingCapability", "CapabilityNotNegotiated"})
_HIDING: Final = frozenset({"UnknownTool", "UnknownPrompt", "ResourceNotFound"})
_RAN: Final = frozenset(
    {Outcome.STARTED, Outcome.WAITING, Outcome.OK, Outcome.ERROR, Outcome.FAILED, Outcome.TIMEOUT}
    | {Outcome.CANCELLED, Outcome.ASKED}
)
_ASKING: Final = Gate(
    _("Confirmation"),
    _("A person is asked to agree before it runs."),
    ending=_(
        "The user was asked whether it may run. With the answer, the client makes another call."
    ),
)
_GIVEN_UP: Final = Gate(
    _("Confirmation"),
    _("A person had to agree, and none had."),
    ending=_("It was cancelled while the user was asked whether it may run."),
)
NOT_RECORDED: Final = Gate(_("Not recorded"), _("This row does not tell which gate decided."))
NONE_ASKED: Final = Gate(
    _("None"),
    _("No decision is recorded: requests of this method are not checked for access one by one."),
)


def deciding_gate(event: CallEvent) -> Gate:
    """The gate that turned the call away, or the last word of those that let it in."""
    match event.outcome:
        case Outcome.UNAUTHENTICATED:
            return _authentication(event)
        case Outcome.UNKNOWN:
            return _unknown(event)
        case Outcome.INVALID:
            return Gate(
                _("Arguments"), _("The caller may; the arguments do not fit what is declared.")
            )
        case Outcome.DENIED | Outcome.REFUSED | Outcome.THROTTLED:
            return _refusal(event)
    return _passed(event) if event.outcome in _RAN else NOT_RECORDED


def _authentication(event: CallEvent) -> Gate:
    told, ending = FOUND.get(event.error_text, (NOTHING_KNOWN, ""))
    if event.error_class == "Throttled":
        told = _("The credential is bad, and its address has used up its failed attempts.")
    return Gate(_("Authentication"), told, ending=ending)


def _unknown(event: CallEvent) -> Gate:
    if event.error_class == "MethodNotFound":
        return Gate(_("Method"), _("This server has no such method."))
    return _NAME


def _refusal(event: CallEvent) -> Gate:
    by, denied = event.error_class, event.decision == Decision.DENY
    if event.error_text == WITHDRAWN:
        return _withdrawn(by)
    if denied and by and event.error_text == f"hidden by {by}":
        return _hidden(by)
    if denied and by in _HIDING and event.outcome == Outcome.DENIED:
        return _permission(event.error_text)
    if event.decision == Decision.CONFIRM and by in _INCAPABLE:
        return Gate(
            _("Capabilities of the client"),
            _("A person was to be asked, to agree or for input, and the client can ask nobody."),
            ending=_("The user could not be asked whether it may run, so it did not."),
        )
    if event.error_text.startswith("the requestState "):
        return _answers(event)
    if by in _BY_ERROR:
        return _BY_ERROR[by]
    if denied and "." in by:
        ending = _("The product said no to this call.")
        return Gate(_("Hook before the call"), _("It said no to these arguments."), by, ending)
    return _THROTTLE if event.outcome == Outcome.THROTTLED else NOT_RECORDED


def _permission(text: str) -> Gate:
    """With the class that said no, where the row names it."""
    said, _colon, by = text.partition(": ")
    if said != NOT_PERMITTED or not by:
        return _PERMISSION
    told = _("It exists, and this class refused the user. The caller read that it does not exist.")
    return replace(_PERMISSION, told=told, code=by)


def _hidden(by: str) -> Gate:
    ending = _("The user may not do this.")
    return Gate(_("Hook of LIST_TOOLS"), _("It leaves this tool out for the caller."), by, ending)


def _withdrawn(by: str) -> Gate:
    """The gate that let a call in, and did no more when its user had answered."""
    told = _("It let the call in at first. Asked again after the user's answer, it said no.")
    ending = _("It was allowed when the user was asked, and not any more when they had answered.")
    if "." in by:
        return Gate(_hidden(by).name, told, by, ending)
    name = _WITHDRAWN.get(by) or _BY_ERROR.get(by, NOT_RECORDED).name
    return Gate(name, told, ending=ending)


def _answers(event: CallEvent) -> Gate:
    """What came back from the client to a call that had asked for input."""
    late = event.error_text.startswith(_LATE)
    return Gate(
        _("Answers of the user"),
        _("A call that asked for input is made again with the answers. These did not count."),
        ending=_("The answer came too late: it did not count any more.")
        if late
        else _("The answers it came with belong to another call, or were used before."),
    )


def _passed(event: CallEvent) -> Gate:
    match event.decision:
        case Decision.ALLOW:
            return Gate(_("All let it in"), _("Each gate that it met said yes."))
        case Decision.CONFIRM if event.outcome == Outcome.ASKED:
            return _ASKING
        case Decision.CONFIRM if event.outcome == Outcome.WAITING:
            return replace(_ASKING, ending="")
        case Decision.CONFIRM if event.error_text == WHILE_ASKED:
            return _GIVEN_UP
        case Decision.CONFIRM:
            return Gate(_("Confirmation"), _("The gates let it in on the condition of a yes."))
        case Decision.DENY:
            return NOT_RECORDED
    return NONE_ASKED
