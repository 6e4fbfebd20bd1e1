"""What to paste into a client so that it finds this server. It knows no request and no row."""

import json
import re
import shlex
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Snippet:
    """A client, the file its text goes into (empty: a terminal), and the text, secret and all."""

    client: str
    place: str
    text: str = field(repr=False)


def snippets(server_name: str, url: str, secret: str) -> list[Snippet]:
    """For Claude Code, Cursor and VS Code, with the endpoint's absolute URL and a secret's text."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", server_name).strip("-") or "mcp"
    headers = {"Authorization": f"Bearer {secret}"}
    cursor = {"mcpServers": {name: {"url": url, "headers": headers}}}
    code = {"servers": {name: {"type": "http", "url": url, "headers": headers}}}
    command = (
        f"claude mcp add --transport http {name} {shlex.quote(url)}"
        f' --header "Authorization: Bearer {secret}"'
    )
    return [
        Snippet("Claude Code", "", command),
        Snippet("Cursor", ".cursor/mcp.json", json.dumps(cursor, indent=2)),
        Snippet("VS Code", ".vscode/mcp.json", json.dumps(code, indent=2)),
    ]
