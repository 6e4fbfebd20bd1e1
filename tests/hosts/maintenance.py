"""A middleware that a host switches on while it is being repaired."""

from typing import Any

from django.http import HttpResponse


def closed(get_response: Any) -> Any:
    """Answer everything with a page that says so."""

    def middleware(request: Any) -> HttpResponse:
        return HttpResponse("<h1>Back soon</h1>", status=503, headers={"Retry-After": "60"})

    return middleware
