"""What requests that wait for a thread at the same time can have done for them together."""

from collections.abc import Sequence

from mcp_app.access import in_force
from mcp_app.access.in_force import Announced
from mcp_app.auth import presented
from mcp_app.auth.authentication import TokenAuthentication
from mcp_app.auth.presented import Presented
from mcp_app.conf import settings
from mcp_app.transports.incoming import Incoming
from mcp_app.work.connections import give_back_connections
from mcp_app.work.crews import Ahead

Item = tuple[Presented | None, Announced]


def ahead_of(incoming: Incoming, announced: Announced) -> Ahead:
    """The lookups of a request's token and switches, for a lane to do with those of others."""
    return Ahead(_look_up, (_presented(incoming), announced))


def _presented(incoming: Incoming) -> Presented | None:
    if not any(issubclass(cls, TokenAuthentication) for cls in settings.authentication_classes):
        return None
    return incoming.presented


def _look_up(waiting: Sequence[Item]) -> None:
    try:
        presented.look_up([credential for credential, _ in waiting if credential is not None])
        in_force.look_up([announced for _, announced in waiting])
    except BaseException:
        # What it broke is not to be met by the jobs, which look for themselves.
        give_back_connections()
        raise
