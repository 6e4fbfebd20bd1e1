"""A person at the admin of one process among several: pages, forms, and a page's WebSocket."""

import base64
import json
import os
import re
import socket
import struct
from http.cookiejar import CookieJar
from typing import Any, Final
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

from tests import live

PATIENCE: Final = 20.0


class Browser:
    """Signed in at one process; what it holds is good at the others."""

    def __init__(self, port: int, username: str, password: str) -> None:
        self._cookies = CookieJar()
        self._opener = build_opener(HTTPCookieProcessor(self._cookies))
        self.port = port
        self.get("/admin/login/")
        page = self.post("/admin/login/", username=username, password=password, next="/admin/")
        assert "logout-form" in page

    def get(self, path: str) -> str:
        """A page."""
        return self._open(Request(f"http://{live.HOST}:{self.port}{path}"))

    def post(self, path: str, **fields: str) -> str:
        """The page that a form leads to."""
        data = urlencode({"csrfmiddlewaretoken": self._cookie("csrftoken"), **fields}).encode()
        return self._open(Request(f"http://{live.HOST}:{self.port}{path}", data))

    def socket(self, path: str) -> "Socket":
        """A page's WebSocket, opened."""
        return Socket(self.port, path, self._cookie("sessionid"))

    def _open(self, request: Request) -> str:
        with self._opener.open(request, timeout=PATIENCE) as response:
            text: str = response.read().decode()
            return text

    def _cookie(self, name: str) -> str:
        return next(each.value or "" for each in self._cookies if each.name == name)


class Socket:
    """The client's side of RFC 6455, as much of it as short texts need."""

    def __init__(self, port: int, path: str, session: str) -> None:
        self._line = socket.create_connection((live.HOST, port), timeout=PATIENCE)
        self._file = self._line.makefile("rb")
        host, key = f"{live.HOST}:{port}", base64.b64encode(os.urandom(16)).decode()
        head = (
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
            f"Upgrade: websocket\r\nConnection: Upgrade\r\nCookie: sessionid={session}\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
        )
        self._line.sendall(head.encode())
        self.status = int(self._file.readline().split()[1])
        while self._file.readline().strip():
            pass

    def send(self, text: str) -> None:
        """Send one text."""
        data, mask = text.encode(), os.urandom(4)
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))
        length = (
            bytes([0x80 | len(data)]) if len(data) < 126 else struct.pack("!BH", 0xFE, len(data))
        )
        self._line.sendall(b"\x81" + length + mask + masked)

    def receive(self) -> tuple[int, Any]:
        """The next frame: its opcode, and what it says: JSON, or the code that it closes with."""
        first, second = self._file.read(2)
        length = second & 0x7F
        if length >= 126:
            form, size = ("!H", 2) if length == 126 else ("!Q", 8)
            (length,) = struct.unpack(form, self._file.read(size))
        data = self._file.read(length)
        if first & 0x0F == 8:
            return 8, struct.unpack("!H", data[:2])[0]
        return first & 0x0F, json.loads(data)

    def news(self, cursor: str = "", **asked: str) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        self.send(urlencode({"cursor": cursor, **asked}) if cursor else "")
        _, told = self.receive()
        found: dict[str, Any] = told
        return found

    def __enter__(self) -> "Socket":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._line.close()


def messages_on(page: str) -> list[str]:
    """What a page tells of the act before."""
    return re.findall(r'<li class="(?:success|warning|info|error)">([^<]*)', page)
