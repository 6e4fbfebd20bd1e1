"""What stands before the example is served: a free port, and lines that a script can read."""

import json
import socket

import pytest
from django.core.management.base import CommandError

from project.people import Credentials
from project.serving import HOST, refuse_busy_port
from project.welcome import welcome

TEXT = welcome("http://127.0.0.1:8000", Credentials(password="p4ss", token="mcp_abc"), "list_rooms")


def test_a_busy_port_is_refused_with_what_to_write() -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        port = other.getsockname()[1]

        with pytest.raises(CommandError, match=f"Port {port} is in use.*PORT={port + 1}"):
            refuse_busy_port(port)


def test_a_free_port_is_taken() -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        port = other.getsockname()[1]

    refuse_busy_port(port)


@pytest.mark.parametrize(
    "line",
    [
        "Endpoint: http://127.0.0.1:8000/mcp",
        "Token: mcp_abc",
        "Admin: http://127.0.0.1:8000/admin/ (admin / p4ss)",
    ],
)
def test_each_fact_has_a_line_of_its_own(line: str) -> None:
    assert line in TEXT.splitlines()


@pytest.mark.parametrize(
    "client", ["Claude Code", "Cursor", "VS Code", "curl:", "curl: tools/call"]
)
def test_each_client_has_a_snippet(client: str) -> None:
    paragraph = next(part for part in TEXT.split("\n\n") if part.startswith(client))

    assert "http://127.0.0.1:8000/mcp" in paragraph
    assert "Bearer mcp_abc" in paragraph


def test_the_snippets_that_are_files_are_json() -> None:
    files = [part.partition(":\n")[2] for part in TEXT.split("\n\n") if ".json" in part]

    assert [list(json.loads(text)) for text in files] == [["mcpServers"], ["servers"]]
