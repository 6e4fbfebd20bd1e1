"""Opens a session of a handshake revision, as its clients do before they call."""

import http.client
from collections.abc import Mapping
from typing import Final

from bench.load import HOST
from bench.wire import LEGACY, WrongAnswer, initialize, message

_BASE: Final = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": LEGACY,
}


def open_session(port: int, path: str, headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a session that is open, with those that were given."""
    opening = {**_BASE, **headers}
    session = _post(port, path, opening, initialize(), {200}).get("mcp-session-id")
    opened = dict(headers) | ({"mcp-session-id": session} if session else {})
    done = message("notifications/initialized", {}, None)
    _post(port, path, {**_BASE, **opened}, done, {200, 202})
    return opened


def _post(
    port: int, path: str, headers: Mapping[str, str], body: str, statuses: set[int]
) -> dict[str, str]:
    connection = http.client.HTTPConnection(HOST, port, timeout=30)
    try:
        connection.request("POST", path, body, dict(headers))
        response = connection.getresponse()
        answer = response.read()
    finally:
        connection.close()
    if response.status not in statuses:
        raise WrongAnswer(f"{response.status} {answer[:600].decode(errors='replace')}")
    return {name.lower(): value for name, value in response.getheaders()}
