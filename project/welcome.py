"""What `make run` prints: where the example is, and how a client connects to it."""

from textwrap import indent

from mcp_app.auth.snippets import Snippet, snippets
from project.people import ADMINISTRATOR, Credentials

CLIENTS = ("Claude Code", "Cursor", "VS Code", "curl", "curl: tools/call")
"""Those whose snippets are printed; the admin shows more when it has issued a token."""


def welcome(origin: str, credentials: Credentials, tool: str = "") -> str:
    """The lines that a person, or a script, reads; `tool` is one that may be called at once."""
    endpoint = f"{origin}/mcp"
    every = snippets(endpoint, credentials.token, tool)
    return "\n".join(
        [
            "",
            f"Endpoint: {endpoint}",
            f"Token: {credentials.token}",
            f"Admin: {origin}/admin/ ({ADMINISTRATOR} / {credentials.password})",
            "",
            *(_paragraph(snippet) for snippet in every if snippet.client in CLIENTS),
            "What has called, and is calling, stands in the admin under Calls and Live.",
            "Stop it with Ctrl-C; `make run FRESH=1` starts over.",
        ]
    )


def _paragraph(snippet: Snippet) -> str:
    place = f", in {snippet.place}" if snippet.place else ""
    return f"{snippet.client}{place}:\n{indent(snippet.text, '  ')}\n"
