"""nginx in front of four processes, as docs/deployment.md has it: nothing is buffered or cut."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import pytest

from tests import live
from tests.servers import sites
from tests.servers.callers import LEGACY, Caller, until
from tests.servers.test_outage import is_heard_from

pytestmark = pytest.mark.live

READ_TIMEOUT: Final = 1
KEEP_ALIVE: Final = READ_TIMEOUT / 4
"""As the defaults, 15 of 60 seconds, are to each other."""
PROCESSES: Final = 4

FRAME: Final = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    gzip on;
    gzip_types *;
    {documented}
}}
"""


def documented(port: int, ports: list[int]) -> str:
    """The documented example, with this test's ports and times."""
    text = (live.ROOT / "docs/deployment.md").read_text()
    (example,) = re.findall(r"```nginx\n(.*?)```", text, re.DOTALL)
    for number, own in enumerate(ports, 1):
        example = example.replace(f":800{number};", f":{own};")
    return example.replace("listen 80;", f"listen {live.HOST}:{port};").replace(
        "proxy_read_timeout 60s", f"proxy_read_timeout {READ_TIMEOUT}s"
    )


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str]]:
    """The port of nginx, and a token."""
    folder = tmp_path_factory.mktemp("proxy")
    environment = sites.shared(
        folder,
        database="",
        prefix=f"proxy-{time.time_ns()}",
        SITE_MCP_APP=json.dumps({"KEEP_ALIVE": KEEP_ALIVE}),
    )
    token = sites.prepare(environment)
    with sites.serving(environment, folder, ["uvicorn"] * PROCESSES) as served:
        port, ports = live.free_port(), [one.port for one in served]
        configuration = folder / "nginx.conf"
        configuration.write_text(FRAME.format(folder=folder, documented=documented(port, ports)))
        with _nginx(configuration, port, folder):
            yield port, token


def _nginx(configuration: Path, port: int, folder: Path) -> AbstractContextManager[object]:
    command = ["nginx", "-e", "stderr", "-p", str(folder), "-c", str(configuration)]
    return live.running(command, port, {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, folder / "nginx")


def test_the_first_event_comes_at_once_and_a_quiet_stream_is_not_cut(
    proxy: tuple[int, str],
) -> None:
    caller = Caller(*proxy)
    for _ in range(PROCESSES):
        caller.call("read")
    started = time.monotonic()
    listening = caller.listen()
    working = caller.open("tools/call", {"name": "report", "arguments": {}})
    assert working.event()["method"] == "notifications/progress"
    assert time.monotonic() - started < 0.5
    assert "Content-Encoding" not in listening.response.headers or (
        listening.response.headers["Content-Encoding"] == "identity"
    )
    while time.monotonic() - started < 2.5 * READ_TIMEOUT:
        assert listening.line() == ":"
        assert working.line() == ":"
    listening.close()
    working.close()


def test_no_request_has_to_find_the_process_of_the_one_before(proxy: tuple[int, str]) -> None:
    legacy = Caller(*proxy, LEGACY).initialize()
    own = legacy.get()
    assert until(lambda: is_heard_from(legacy, legacy))
    for _ in range(PROCESSES):
        assert is_heard_from(legacy, legacy)
    own.close()
