"""What requests that wait for a thread at the same time can have done for them together."""

from collections.abc import Sequence

from mcp_app.auth.authentication import TokenAuthentication
from mcp_app.auth.presented import Presented, look_up, present
from mcp_app.conf import settings
from mcp_app.transports.incoming import Incoming
from mcp_app.work.connections import give_back_connections
from mcp_app.work.crews import Ahead


def credentials_of(incoming: Incoming) -> Ahead | None:
    """The lookup of a request's token, for a lane to do with those of others."""
    if not any(issubclass(cls, TokenAuthentication) for cls in settings.authentication_classes):
        return None
    presented = present(incoming.request, incoming.headers.get("authorization", ""))
    return None if presented is None else Ahead(_look_up, presented)


def _look_up(waiting: Sequence[Presented]) -> None:
    give_back_connections()
    look_up(waiting)
