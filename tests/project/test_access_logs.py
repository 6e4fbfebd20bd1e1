"""No server of the example writes a secret down that somebody puts into an address."""

import http.client
import sys
from pathlib import Path

import pytest

from mcp_app.auth.hashing import generate
from tests import live

pytestmark = pytest.mark.live

EXTRA = {"uvicorn": ["--log-level", "info"], "gunicorn": ["--access-logfile", "-"], "runserver": []}


@pytest.mark.parametrize("server", EXTRA)
def test_an_access_line_holds_no_secret(server: str, tmp_path: Path) -> None:
    secret, port, log = generate().secret.reveal(), live.free_port(), tmp_path / "log"
    environment = live.environment(tmp_path, "project.settings", EXAMPLE_DEBUG="1")
    command = (
        [sys.executable, "manage.py", "runserver", f"{live.HOST}:{port}", "--noreload"]
        if server == "runserver"
        else [*live.command(server, port), *EXTRA[server]]
    )
    live.manage(environment, "migrate", "-v", "0")
    with live.running(command, port, environment, log):
        for path in ("/mcp", "/nowhere", "/admin/"):
            for query in (f"token={secret}", f"token={secret.replace('_', '%5F')}"):
                connection = http.client.HTTPConnection(live.HOST, port, timeout=20)
                connection.request("POST", f"{path}?{query}", b"{}")
                connection.getresponse().read()
                connection.close()
    told = log.read_text()
    assert told.count("POST /nowhere?token=mcp") >= 2, told
    assert secret[17:] not in told
