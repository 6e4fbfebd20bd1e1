"""Which gate decided a call, read from its row alone: decision, outcome, error class, error text.

Knows the words that dispatch writes there. What no field tells is told as not recorded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from mcp_app.dispatch.interfaces import Decision, Outcome
from mcp_app.models import CallEvent


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate by its name, and what it asks or found, in a sentence.

    Attributes:
        code: what the row holds of it: the name of a hook, or nothing.
    """

    name: Any
    told: Any
    code: str = ""


_DOOR: Final = Gate(
    _("The form of the request"),
    _("It was turned away before anybody looked at what it asks for."),
)
_NAME: Final = Gate(_("Name"), _("There is nothing of that name on this server."))
_PERMISSION: Final = Gate(
    _("Permission classes"),
    _("It exists, and its permission classes refused this user. The caller read that it does not."),
)
_THROTTLE: Final = Gate(_("Rate limit"), _("It came sooner than a throttle class admits."))
_CAPABILITIES: Final = Gate(
    _("Capabilities of the client"),
    _("It needs a capability that the client did not declare."),
)
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
        _("Switch"), _("An administrator has switched it off, or the whole server, for a while.")
    ),
    "SwitchesUnavailable": Gate(
        _("Switch"), _("What is switched off could not be read, and nothing is to run unasked.")
    ),
    "OutsideLimits": Gate(
        _("Limits of the token"),
        _("The user may; the token is limited to other tools, or to reading."),
    ),
    "InsufficientScope": Gate(
        _("Scopes of the token"), _("The user may; the token lacks a scope that is needed.")
    ),
    "Throttled": _THROTTLE,
    "LimitsUnavailable": Gate(
        _("Rate limit"), _("Calls could not be counted, and none is to go uncounted.")
    ),
    "MissingCapability": _CAPABILITIES,
    "CapabilityNotNegotiated": _CAPABILITIES,
    "NotConfirmed": Gate(_("Confirmation"), _("A person had to agree, and none has.")),
}
_INCAPABLE: Final = frozenset({"MissingCapability", "CapabilityNotNegotiated"})
_HIDING: Final = frozenset({"UnknownTool", "UnknownPrompt", "ResourceNotFound"})
_RAN: Final = frozenset(
    {Outcome.STARTED, Outcome.WAITING, Outcome.OK, Outcome.ERROR, Outcome.FAILED, Outcome.TIMEOUT}
    | {Outcome.CANCELLED, Outcome.ASKED}
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
    if event.error_class == "Throttled":
        told = _("The credential is bad, and its address has used up its failed attempts.")
        return Gate(_("Authentication"), told)
    return Gate(_("Authentication"), _("No credential came along, or none that is accepted."))


def _unknown(event: CallEvent) -> Gate:
    if event.error_class == "MethodNotFound":
        return Gate(_("Method"), _("This server has no such method."))
    return _NAME


def _refusal(event: CallEvent) -> Gate:
    by, denied = event.error_class, event.decision == Decision.DENY
    if denied and by and event.error_text == f"hidden by {by}":
        return Gate(_("Hook of LIST_TOOLS"), _("It leaves this tool out for the caller."), by)
    if denied and by in _HIDING and event.outcome == Outcome.DENIED:
        return _PERMISSION
    if event.decision == Decision.CONFIRM and by in _INCAPABLE:
        return Gate(
            _("Capabilities of the client"),
            _("A person was to be asked, to agree or for input, and the client can ask nobody."),
        )
    if by in _BY_ERROR:
        return _BY_ERROR[by]
    if denied and "." in by:
        return Gate(_("Hook before the call"), _("It said no to these arguments."), by)
    return _THROTTLE if event.outcome == Outcome.THROTTLED else NOT_RECORDED


def _passed(event: CallEvent) -> Gate:
    match event.decision:
        case Decision.ALLOW:
            return Gate(_("All let it in"), _("Each gate that it met said yes."))
        case Decision.CONFIRM if event.outcome in {Outcome.ASKED, Outcome.WAITING}:
            return Gate(_("Confirmation"), _("A person is asked to agree before it runs."))
        case Decision.CONFIRM:
            return Gate(_("Confirmation"), _("The gates let it in on the condition of a yes."))
        case Decision.DENY:
            return NOT_RECORDED
    return NONE_ASKED
