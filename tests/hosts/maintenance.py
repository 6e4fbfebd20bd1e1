"""Middleware of hosts that lets nothing through: under repair, or suspicious of everybody."""

from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.http import HttpResponse


def closed(get_response: Any) -> Any:
    """Answer everything with a page that says so."""

    def middleware(request: Any) -> HttpResponse:
        return HttpResponse("<h1>Back soon</h1>", status=503, headers={"Retry-After": "60"})

    return middleware


def suspicious(get_response: Any) -> Any:
    """Find every request bad."""

    def middleware(request: Any) -> HttpResponse:
        raise SuspiciousOperation("No.")

    return middleware
