"""A GET that this process asks of itself, through all of the product's middleware and views.

So that what is pushed to a page on a socket is what the page could ask for: who is signed in, what
they may see, their language and time zone are settled by the same code, each time anew.
"""

from collections.abc import Mapping
from functools import lru_cache
from io import BytesIO
from typing import Any, Final

from django.core.handlers.asgi import ASGIRequest, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.http import HttpResponseBase
from django.urls import get_script_prefix as current_prefix
from django.urls import set_script_prefix

_SCHEMES: Final = {"ws": "http", "wss": "https"}


def as_get(scope: Mapping[str, Any], under: str = "", query: str = "") -> ASGIRequest:
    """The request that a socket's page would send to an address under its own.

    Raises:
        ValueError: its headers cannot be read.
    """
    told = {
        **scope,
        "type": "http",
        "method": "GET",
        "scheme": _SCHEMES.get(scope.get("scheme", "ws"), "http"),
        "path": scope["path"] + under,
        "query_string": query.encode(),
    }
    return ASGIRequest(told, BytesIO())


def answer(request: ASGIRequest) -> HttpResponseBase:
    """What the product answers. In a thread where the database may be asked."""
    before = current_prefix()
    set_script_prefix(get_script_prefix(request.scope))
    try:
        return _handler().get_response(request)
    finally:
        set_script_prefix(before)


@lru_cache(maxsize=1)
def _handler() -> BaseHandler:
    handler = BaseHandler()
    handler.load_middleware()
    return handler
