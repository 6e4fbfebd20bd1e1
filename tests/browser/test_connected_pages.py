"""Who is connected, looked at and closed while a client listens."""

from urllib.parse import urlsplit

import pytest

from tests.browser.site import Site
from tests.servers.lines import LiveClient

pytestmark = pytest.mark.browser

CONNECTED = "/admin/mcp_app/session/connected/"
LISTEN = ("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, 1)


def test_a_listening_client_is_seen_and_cut_off(site: Site) -> None:
    token = site.manage("mcp_token", "create", "admin", "--name=listens", "--plain").strip()
    port = urlsplit(site.origin).port or 0
    name = {"name": "<script>alert(1)</script> " + "long" * 30, "version": "1"}
    old = LiveClient(token, version="2025-11-25", client_info=name).at(port)
    old.initialize()
    listener = LiveClient(token, version="2026-07-28", client_info=name).at(port)
    with listener.ask(*LISTEN) as line, old.open(None, accept="text/event-stream"):
        line.until(lambda message: "method" in message)
        wrong = site.look({"connected": CONNECTED})
        assert wrong == [], "\n".join(wrong)
        seen = site.run("connected.mjs", connected=CONNECTED, shots=str(site.shots))
        assert seen["errors"] == []
        assert seen["unfit"] == []
        assert seen["wide"] == 0
        assert "<script>alert(1)</script>" in seen["page"]
        assert "Process" in seen["asked"]
        assert "The stream is ended." in seen["told"]
