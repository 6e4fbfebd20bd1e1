"""Requests that a viewset is shown: one for a call, one to ask its permissions, one for start-up.

What a view looks at before there are arguments is noted: an answer that looked at none holds for
all of them.
"""

import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, QueryDict
from rest_framework.parsers import JSONParser

from mcp_app.catalog.encoding import json_text


def request_for(
    origin: HttpRequest,
    caller: Any,
    method: str,
    *,
    query: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
) -> HttpRequest:
    """A request of its own, made like the one that brought the call, and authenticated as it was.

    Args:
        origin: the endpoint's request. What middlewares put on it is there, too.
        data: the body; None for a request without one.
    """
    body = b"" if data is None else json_text(data).encode()
    made = WSGIRequest(
        {
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            **origin.META,
            "REQUEST_METHOD": method,
            "PATH_INFO": origin.path_info or "/",
            "QUERY_STRING": urlencode(query or {}, doseq=True),
            "CONTENT_TYPE": "application/json" if body else "",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_ACCEPT": "*/*",
            "wsgi.url_scheme": origin.scheme,
            "wsgi.input": io.BytesIO(body),
        }
    )
    for name, value in vars(origin).items():
        if not name.startswith("_") and not hasattr(made, name):
            setattr(made, name, value)
    made.user = caller.user
    # How DRF carries a user and their credential into a request that is authenticated already.
    made._force_auth_user, made._force_auth_token = caller.user, caller.auth  # type: ignore[attr-defined]
    return made


class Notes:
    """Whether something was looked at."""

    def __init__(self) -> None:
        self.looked = False

    def look(self) -> None:
        """Note it."""
        self.looked = True


def watched(request: HttpRequest, notes: Notes) -> HttpRequest:
    """`request`, whose query is watched."""
    request.GET = _WatchedQuery(notes)  # type: ignore[assignment]
    return request


class WatchedParser(JSONParser):
    """Notes that the body was asked for."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        """The body."""
        self._notes.look()
        return super().parse(*args, **kwargs)


class _Watched:
    """Mixed into mappings that are read."""

    _notes: Notes

    def __getitem__(self, key: Any) -> Any:
        self._notes.look()
        return super().__getitem__(key)  # type: ignore[misc]

    def __contains__(self, key: Any) -> bool:
        self._notes.look()
        return bool(super().__contains__(key))  # type: ignore[misc]

    def __iter__(self) -> Iterator[Any]:
        self._notes.look()
        return super().__iter__()  # type: ignore[misc,no-any-return]

    def get(self, key: Any, default: Any = None) -> Any:
        """A value."""
        self._notes.look()
        return super().get(key, default)  # type: ignore[misc]


class WatchedDict(_Watched, dict[str, Any]):
    """A view's `kwargs`."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        super().__init__()


class _WatchedQuery(_Watched, QueryDict):
    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        super().__init__()


class WatchedRequest:
    """Stands for DRF's request where there is none yet; whatever is asked of it is noted."""

    def __init__(self, notes: Notes, make: Callable[[], Any]) -> None:
        self._notes = notes
        self._make = make

    def __getattr__(self, name: str) -> Any:
        self._notes.look()
        return getattr(self._make(), name)
