"""The rows of mcp_app: tokens and secrets, call events and seals, handshake sessions, switches."""

from mcp_app.models.catalogue import Catalogue
from mcp_app.models.events import UNENDED, CallDecision, CallEvent, CallOutcome
from mcp_app.models.seals import Seal
from mcp_app.models.sessions import Session
from mcp_app.models.streams import SpentState, StreamEvent
from mcp_app.models.switches import Switch, SwitchKind, SwitchNoun
from mcp_app.models.tokens import Token, TokenQuerySet, TokenSecret, TokenStatus

__all__ = [
    "UNENDED",
    "CallDecision",
    "CallEvent",
    "CallOutcome",
    "Catalogue",
    "Seal",
    "Session",
    "SpentState",
    "StreamEvent",
    "Switch",
    "SwitchKind",
    "SwitchNoun",
    "Token",
    "TokenQuerySet",
    "TokenSecret",
    "TokenStatus",
]
