"""What an administrator does, as tools: so that a test chooses the process in which it is done."""

from datetime import timedelta

from django.contrib.auth import get_user_model
from django.utils import timezone
from rest_framework.permissions import IsAdminUser

from mcp_app.auth.tokens import issue, revoke, rotate
from mcp_app.models import UNENDED, CallEvent, Token
from mcp_app.transports.stopping import find
from tests.servers.site.tools import server

BOSS = [IsAdminUser]


@server.tool(permission_classes=BOSS)
def hire(username: str) -> str:
    """Make a member of staff; their token."""
    user = get_user_model().objects.create(username=username, is_staff=True)
    return issue(user=user, name="laptop")[1].reveal()


@server.tool(permission_classes=BOSS)
def renew(username: str, grace: float) -> str:
    """Rotate their token; the new secret."""
    return rotate(_token_of(username), grace=timedelta(seconds=grace)).reveal()


@server.tool(permission_classes=BOSS)
def dismiss(username: str, way: str) -> str:
    """End what lets them in, in one of the ways that there are."""
    token = _token_of(username)
    match way:
        case "revoked":
            revoke(token)
        case "expired":
            token.expires_at = timezone.now()
            token.save()
        case "user inactive":
            token.user.is_active = False
            token.user.save()
        case "user deleted":
            token.user.delete()
        case "token deleted":
            token.delete()
        case "inactive unheard":
            get_user_model().objects.filter(pk=token.user_id).update(is_active=False)
    return way


@server.tool(permission_classes=BOSS, read_only=True)
def refusals(lookup: str) -> str:
    """Why a token was refused, as the call log has it."""
    refused = CallEvent.objects.filter(token_lookup=lookup, outcome="unauthenticated")
    return ", ".join(sorted(set(refused.values_list("error_text", flat=True))))


@server.tool(permission_classes=BOSS, read_only=True)
def whereabouts(request_id: str) -> str:
    """Which process says that it runs a call that has not ended; nothing where none does."""
    call = CallEvent.objects.get(request_id=request_id, outcome__in=UNENDED)
    found = find(call.correlation_id)
    return found["process"] if found else ""


def _token_of(username: str) -> Token:
    return Token.objects.select_related("user").get(user__username=username)
