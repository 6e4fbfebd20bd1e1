"""Reading the admin's pages as a person would: addresses, hidden fields, the secret on a page."""

import re
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.core import serializers
from django.test import Client
from django.urls import reverse

LINK = re.compile(r'(?:href|action|data-url|data-rows)="([^"]*)"')
TEXT = re.compile(r"mcp_[0-9A-Za-z]{12}_[0-9A-Za-z]{39}")


def url(page: str, *args: Any, model: str = "token") -> str:
    """The address of one of the model's pages."""
    return reverse(f"admin:mcp_app_{model}_{page}", args=args)


def secrets_on(response: Any) -> list[str]:
    """Each secret that a page shows, once, in order."""
    return list(dict.fromkeys(TEXT.findall(response.content.decode())))


def hidden(response: Any, name: str) -> str:
    """The value of a hidden field."""
    match = re.search(
        rf'<input type="hidden" name="{name}" value="([^"]*)"', response.content.decode()
    )
    assert match, name
    return match[1]


def traces(client: Client, response: Any) -> str:
    """All that an answer leaves behind other than its own page: headers, cookies, rows."""
    rows = [*LogEntry.objects.all(), *Session.objects.all()]
    decoded = [session.get_decoded() for session in Session.objects.all()]
    return "".join(
        (
            str(response.headers),
            str(client.cookies),
            str(response.request),
            serializers.serialize("json", rows),
            str(decoded),
        )
    )


def html(answer: Any) -> str:
    """A page; of files and pieces for scripts nothing, which have no links."""
    is_page = answer["Content-Type"].startswith("text/html")
    return answer.content.decode() if is_page else ""
