"""The addresses of the pages, and what a browser sends of a freshly opened form."""

from html import unescape
from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags

from mcp_app.auth.tokens import newest_secret_id
from mcp_app.models import Token
from tests.admin.pages import hidden


def url(page: str, *args: Any) -> str:
    """The address of one of the pages."""
    return reverse(f"mcp_app_account:{page}", args=args)


def text_of(response: Any) -> str:
    """What a person reads."""
    return " ".join(unescape(strip_tags(response.content.decode())).split())


def new(client: Client, **changes: Any) -> dict[str, Any]:
    """The form that issues, filled in."""
    page = client.get(url("issue"))
    assert page.status_code == 200
    return {
        "name": "my agent",
        "tools_limit": "any",
        "expiry": "30",
        "lookup": hidden(page, "lookup"),
    } | changes


def rotation(token: Token, **changes: Any) -> dict[str, Any]:
    """The form that rotates, filled in."""
    return {"grace": "3600", "seconds": "", "expected": newest_secret_id(token)} | changes
