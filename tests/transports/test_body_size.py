"""Bodies without a true length, as servers hand them over: none is read beyond the limit."""

import json
import tracemalloc
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest

from mcp_app.auth.tokens import issue
from mcp_app.transports.door import EndpointApplication
from mcp_app.transports.view import EndpointView
from tests.interaction.wire import PATIENCE

pytestmark = pytest.mark.django_db

LIMIT = 100_000


@pytest.fixture(autouse=True)
def _limited(settings: Any) -> None:
    # Django's own limit is lower, and its error would be a page.
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    settings.MCP_APP = {**settings.MCP_APP, "MAX_BODY_BYTES": LIMIT, "WORKERS": 0}


class Counting(BytesIO):
    """A body that knows how much of it was asked for."""

    taken = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data


def ask(body: Counting, **environ: Any) -> Any:
    request = WSGIRequest(
        {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": "/mcp",
            "CONTENT_TYPE": "application/json",
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "REMOTE_ADDR": "192.0.2.1",
            "wsgi.url_scheme": "http",
            "wsgi.input": body,
            **environ,
        }
    )
    return EndpointView()(request)


class Broken(Counting):
    """A body that the server cannot read, which it says in its own way."""

    def __init__(self, error: type[Exception]) -> None:
        super().__init__()
        self._error = error

    def read(self, size: int | None = -1) -> bytes:
        raise self._error("Invalid chunk size: b'zz'")


class InvalidChunkSize(Exception):
    """As gunicorn says it."""


CHUNKED = {"HTTP_TRANSFER_ENCODING": "chunked"}


def test_a_chunked_body_is_read_where_the_server_says_where_it_ends() -> None:
    answer = ask(Counting(b"{}" + b" " * 2000), **CHUNKED, **{"wsgi.input_terminated": True})

    assert answer.status_code == 401  # the body was taken, and the caller is nobody


def test_a_chunked_body_that_is_too_large_is_not_read_to_its_end() -> None:
    body = Counting(b" " * 10 * LIMIT)
    answer = ask(body, **CHUNKED, **{"wsgi.input_terminated": True})

    assert answer.status_code == 413
    assert answer["Content-Type"] == "application/json"
    assert body.taken <= LIMIT + 1


def test_a_chunked_body_without_an_end_asks_for_a_length() -> None:
    body = Counting(b"{}")
    answer = ask(body, **CHUNKED)

    assert (answer.status_code, body.taken) == (411, 0)
    assert answer["Content-Type"] == "application/json"


@pytest.mark.parametrize("error", [InvalidChunkSize, ConnectionResetError, EOFError, ValueError])
def test_a_chunked_body_that_the_server_cannot_read_is_a_refusal(error: type[Exception]) -> None:
    answer = ask(Broken(error), **CHUNKED, **{"wsgi.input_terminated": True})

    assert (answer.status_code, json.loads(answer.content)["error"]["code"]) == (400, -32700)
    assert b"zz" not in answer.content


@pytest.mark.parametrize("declared", [str(LIMIT + 1), str(LIMIT * 100), "9" * 400])
def test_a_body_that_says_that_it_is_too_large_is_not_read_at_all(declared: str) -> None:
    body = Counting(b" " * 10 * LIMIT)
    answer = ask(body, CONTENT_LENGTH=declared)

    assert (answer.status_code, body.taken) == (413, 0)


def test_a_length_that_says_too_little_is_all_that_is_read() -> None:
    body = Counting(b"{}" + b" " * 10 * LIMIT)
    answer = ask(body, CONTENT_LENGTH="2")

    assert answer.status_code == 401
    assert body.taken == 2


async def test_a_body_in_pieces_is_refused_at_the_piece_that_is_too_much() -> None:
    pieces: Iterator[int] = iter(range(1000))
    sent: list[Any] = []
    taken = 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        next(pieces)
        taken += 1
        return {"type": "http.request", "body": b" " * (LIMIT // 10), "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        # A length that lies passes the first gate and not the second.
        "headers": [
            (b"host", b"localhost"),
            (b"content-type", b"application/json"),
            (b"content-length", b"2"),
        ],
        "client": ("192.0.2.1", 1),
    }
    import asyncio

    async with asyncio.timeout(PATIENCE):
        await EndpointApplication()(scope, receive, send)

    assert sent[0]["status"] == 413
    assert taken == 11


VALUES = 50_000


def of_many_values(count: int) -> bytes:
    """A message whose argument is that many empty lists, each of which counts as two values."""
    return b'{"jsonrpc":"2.0","id":7,"method":"ping","a":[' + b"[]," * count + b"0]}"


def ask_for_nothing_more(body: bytes, **environ: Any) -> tuple[Any, int]:
    """The answer, and how much more memory than before was taken for it."""
    ask(Counting(b"{}"), CONTENT_LENGTH="2")
    tracemalloc.start()
    try:
        answer = ask(Counting(body), CONTENT_LENGTH=str(len(body)), **environ)
        return answer, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture
def large(settings: Any) -> None:
    """A product that takes bodies of some size, but of few values."""
    more = {"MAX_BODY_BYTES": 10 * 1024 * 1024, "MAX_BODY_VALUES": VALUES}
    settings.MCP_APP = {**settings.MCP_APP, **more}


@pytest.fixture
def bearer(django_user_model: Any) -> dict[str, str]:
    """What somebody's request has."""
    user = django_user_model.objects.create_user("ada")
    return {"HTTP_AUTHORIZATION": f"Bearer {issue(user=user, name='laptop')[1].reveal()}"}


@pytest.mark.usefixtures("large")
def test_of_nobodys_body_nothing_is_read() -> None:
    body = of_many_values(VALUES // 2 - 10)
    answer, taken = ask_for_nothing_more(body)

    assert answer.status_code == 401
    assert json.loads(answer.content)["id"] is None
    assert taken < 8 * len(body)


@pytest.mark.usefixtures("large")
def test_a_refusal_of_a_small_body_has_its_id() -> None:
    body = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'

    assert json.loads(ask_for_nothing_more(body)[0].content)["id"] == 7


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("anonymous", [False, True], ids=["somebody", "anybody"])
def test_of_a_body_with_too_many_values_none_is_made(
    settings: Any, bearer: dict[str, str], anonymous: bool
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "ALLOW_ANONYMOUS": anonymous}
    body = of_many_values(500_000)
    answer, taken = ask_for_nothing_more(body, **({} if anonymous else bearer))

    assert answer.status_code == 400
    assert json.loads(answer.content)["error"]["message"] == "A body may hold at most 50000 values."
    assert taken < 6 * len(body)


@pytest.mark.usefixtures("large")
def test_a_large_body_of_somebodys_is_answered_under_its_id(bearer: dict[str, str]) -> None:
    told = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {"a": '\\",[{' * 100_000}}
    answer, _ = ask_for_nothing_more(json.dumps(told).encode(), **bearer)

    assert answer.status_code == 200
    assert json.loads(answer.content)["id"] == 7
