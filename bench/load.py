"""The load: keep-alive connections that ask one question again and again, and check each answer.

One thread, plain sockets and no parser but what is needed to see where an answer ends, so that the
load costs a fraction of what it measures; it says how much.
"""

import re
import selectors
import socket
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.wire import Request, WrongAnswer

HOST: Final = "127.0.0.1"
PATIENCE: Final = 60.0
"""Seconds without any byte until a server counts as stuck."""
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED: Final = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Load:
    """What one slice of load did: times in seconds, `cpu` is the load's own."""

    answers: int
    wall: float
    cpu: float
    latencies: tuple[float, ...]

    @property
    def latency(self) -> float:
        """The median, in seconds."""
        return statistics.median(self.latencies)


class Connection:
    """One connection: it has one request under way."""

    __slots__ = ("_port", "_received", "_since", "_socket", "number")

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket = self._connect()
        self._received = b""
        self._since = 0.0
        self.number = 0

    def fileno(self) -> int:
        """For the selector."""
        return self._socket.fileno()

    def ask(self, request: Request, number: int) -> None:
        """Send the request of that number."""
        self.number, self._received, self._since = number, b"", time.perf_counter()
        self._socket.sendall(request.numbered(number))

    def read(self) -> tuple[bytes, bytes] | None:
        """Status and body (still in its chunks) once the answer is whole; None before that."""
        data = self._socket.recv(1 << 18)
        if not data:
            raise WrongAnswer(f"closed after {self._received[:300]!r}")
        self._received += data
        return whole(self._received)

    @property
    def elapsed(self) -> float:
        """Seconds since the request was sent."""
        return time.perf_counter() - self._since

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _connect(self) -> socket.socket:
        connected = socket.create_connection((HOST, self._port), timeout=PATIENCE)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected


def whole(received: bytes) -> tuple[bytes, bytes] | None:
    """Split an answer that has arrived in whole into its status and body; None while it has not."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    start = end + 4
    if length := _LENGTH.search(received, 0, start):
        is_whole = len(received) - start >= int(length[1])
    elif _CHUNKED.search(received, 0, start):
        is_whole = received.endswith(_LAST_CHUNK) or received[start:] == _LAST_CHUNK[2:]
    else:
        raise WrongAnswer(f"an answer without a length: {received[:300]!r}")
    return (received[9:12], received[start:]) if is_whole else None


def run(
    port: int, request: Request, connections: int, seconds: float, first_number: int = 0
) -> Load:
    """Ask from all connections at once for `seconds`, and then until each has its last answer.

    Raises:
        WrongAnswer: a server said something else than it was asked for.
    """
    with selectors.EpollSelector() as selector:
        asking = [Connection(port) for _ in range(connections)]
        try:
            for connection in asking:
                selector.register(connection, selectors.EVENT_READ)
            return _measure(selector, asking, request, seconds, first_number)
        finally:
            for connection in asking:
                connection.close()


def _measure(
    selector: selectors.EpollSelector,
    asking: list[Connection],
    request: Request,
    seconds: float,
    first_number: int,
) -> Load:
    cpu, start = time.process_time(), time.perf_counter()
    number = first_number
    for connection in asking:
        connection.ask(request, number)
        number += 1
    latencies: list[float] = []
    under_way = len(asking)
    while under_way:
        for connection, (status, body) in _answered(selector):
            request.check(connection.number, status, body)
            latencies.append(connection.elapsed)
            if time.perf_counter() - start < seconds:
                connection.ask(request, number)
                number += 1
            else:
                under_way -= 1
    return Load(
        answers=len(latencies),
        wall=time.perf_counter() - start,
        cpu=time.process_time() - cpu,
        latencies=tuple(latencies),
    )


def _answered(
    selector: selectors.EpollSelector,
) -> Iterator[tuple[Connection, tuple[bytes, bytes]]]:
    ready = selector.select(PATIENCE)
    if not ready:
        raise WrongAnswer(f"no byte for {PATIENCE:.0f} s")
    for key, _ in ready:
        connection = key.fileobj
        assert isinstance(connection, Connection)
        if answer := connection.read():
            yield connection, answer
