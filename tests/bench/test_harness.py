"""The harness asks, checks and counts; one short run of it on live servers."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from bench import load
from bench.processes import ROOT
from bench.wire import Question, Request, WrongAnswer, request

RIGHT = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"999999999"}]}}'


@pytest.fixture
def question() -> Request:
    return request(Question(), 80, "/mcp", {})


def test_every_request_has_an_id_of_its_own_and_the_same_length(question: Request) -> None:
    first, second = question.numbered(0), question.numbered(1)

    assert first != second
    assert len(first) == len(second)
    head, _, body = first.partition(b"\r\n\r\n")
    assert b"content-length: %d" % len(body) in head


def test_the_right_answer_passes(question: Request) -> None:
    question.check(7, b"200", RIGHT % 10_000_007)


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        pytest.param(b"500", RIGHT % 10_000_007, id="another status"),
        pytest.param(b"200", RIGHT % 10_000_008, id="another request's answer"),
        pytest.param(b"200", (RIGHT % 10_000_007).replace(b"999", b"998"), id="another sum"),
        pytest.param(b"200", (RIGHT % 10_000_007) + b'"isError": true', id="a tool's failure"),
        pytest.param(b"200", b'{"id":10000007,"error":{"code":1}}999999999', id="an error"),
    ],
)
def test_a_wrong_answer_stops_the_run(question: Request, status: bytes, answer: bytes) -> None:
    with pytest.raises(WrongAnswer):
        question.check(7, status, answer)


@pytest.mark.parametrize(
    ("received", "body"),
    [
        pytest.param(b"Content-Length: 4\r\n\r\nbody", b"body", id="with a length"),
        pytest.param(
            b"transfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
            b"4\r\nbody\r\n0\r\n\r\n",
            id="in chunks",
        ),
    ],
)
def test_an_answer_is_whole_with_its_last_byte(received: bytes, body: bytes) -> None:
    answer = b"HTTP/1.1 200 OK\r\n" + received

    assert load.whole(answer) == (b"200", body)
    assert all(load.whole(answer[:end]) is None for end in range(len(answer)))


def test_an_answer_without_a_length_is_refused() -> None:
    with pytest.raises(WrongAnswer):
        load.whole(b"HTTP/1.1 200 OK\r\n\r\nbody")


@pytest.fixture
def hangs_up() -> Iterator[int]:
    """The port of a server that reads and closes."""
    with socket.create_server((load.HOST, 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def test_a_server_that_hangs_up_stops_the_run(question: Request, hangs_up: int) -> None:
    with pytest.raises((WrongAnswer, ConnectionResetError)):
        load.run(hangs_up, question, connections=1, seconds=0.1)


@pytest.mark.live
def test_a_short_run_compares_ours_with_the_official_sdk() -> None:
    command = [sys.executable, "-m", "bench", "--only", "asgi-sqlite", "--rounds", "1"]
    done = subprocess.run(
        [*command, "--seconds", "0.2"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )

    assert "`asgi-sqlite`" in done.stdout
