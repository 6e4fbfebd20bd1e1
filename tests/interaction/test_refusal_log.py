"""A gate's refusal is in the log: once a kind, with what decided it, whatever comes after."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mcp_app.testing import Answer, MCPClient
from mcp_app.transports import refusals
from tests.interaction.conftest import MakeClient

SECRET = "mcp_0123456789ab_" + "s" * 39

Ask = Callable[[MCPClient], Answer]

# Django's asynchronous test client names its own host and length.
KINDS: dict[str, tuple[Ask, int, tuple[str, ...]]] = {
    "Origin": (
        lambda c: c.post(b"{}", headers={"origin": "https://evil.example"}),
        403,
        ("'https://evil.example'", "ALLOWED_ORIGINS", "ORIGIN_CHECK", "DEBUG", "host=", "scheme="),
    ),
    "method": (
        lambda c: c.send("PUT", b"", {}),
        405,
        ("method='PUT'", "allowed='POST, DELETE", "LEGACY_SESSIONS", "has_session=False"),
    ),
    "size": (
        lambda c: c.post(b" " * 2000),
        413,
        ("MAX_BODY_BYTES=1500", "content_length="),
    ),
    "media type": (
        lambda c: c.post(b"{}", headers={"content-type": "text/plain"}),
        415,
        ("content_type='text/plain'",),
    ),
    "encoding": (
        lambda c: c.post(b"{}", headers={"content-encoding": "gzip"}),
        415,
        ("content_encoding='gzip'",),
    ),
    "Accept": (
        lambda c: c.post(b"{}", headers={"accept": "image/png"}),
        406,
        ("accept='image/png'",),
    ),
}


@pytest.fixture(autouse=True)
def _small_and_forgetful(settings: Any) -> Iterator[None]:
    settings.MCP_APP = {**settings.MCP_APP, "MAX_BODY_BYTES": 1500}
    refusals.forget()
    yield
    refusals.forget()


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "mcp_app.gates"]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_logged_once_with_every_deciding_field(
    make_client: MakeClient, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    ask, status, fields = KINDS[kind]
    client = make_client()
    for _ in range(3):
        assert ask(client).status == status
    (line,) = lines(caplog)

    assert [field for field in fields if field not in line] == []
    assert "path='/mcp'" in line
    assert "address=" in line


@pytest.mark.parametrize("door", ["view", "asgi"])
def test_a_host_that_is_not_served_is_logged_with_those_that_are(
    make_client: MakeClient, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "CommonMiddleware" not in name]
    make_client().post(b"{}", headers={"host": "evil.example"})
    (line,) = lines(caplog)

    assert "host='evil.example'" in line
    assert "ALLOWED_HOSTS=['localhost'" in line


def test_other_values_of_one_kind_neither_fill_the_log_nor_the_memory(
    make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client()
    for number in range(50):
        client.post(b"{}", headers={"origin": f"https://{number}.example"})

    assert len(lines(caplog)) == 1
    assert len(refusals._noted) == 1


def test_what_is_logged_of_a_value_is_short_and_holds_no_secret(
    make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    make_client().post(b"{}", headers={"origin": f"https://{SECRET}.example/{'x' * 5000}"})
    (line,) = lines(caplog)

    assert SECRET not in line
    assert len(line) < 2000


def test_a_kind_that_two_threads_meet_at_once_is_logged_once(
    make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from mcp_app.protocol.errors import NotAcceptable

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: refusals.note_unreadable(NotAcceptable("no"), {}), range(64)))

    assert len(lines(caplog)) == 1
