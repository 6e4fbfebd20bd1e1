"""The admin: issue and rotate tokens, read calls, end sessions.

A secret is in the page that answers the POST which made it, and nowhere else: no message, no
address, no log entry, no session.
"""

from mcp_app.admin.catalogue import CatalogueAdmin
from mcp_app.admin.events import CallEventAdmin
from mcp_app.admin.links import UserCalls
from mcp_app.admin.sessions import SessionAdmin
from mcp_app.admin.switches import SwitchAdmin
from mcp_app.admin.tokens import TokenAdmin

__all__ = [
    "CallEventAdmin",
    "CatalogueAdmin",
    "SessionAdmin",
    "SwitchAdmin",
    "TokenAdmin",
    "UserCalls",
]
