"""A viewset in the hands of a tool: a subclass of it, so that the class itself stays as it is.

A call goes through the view's own `dispatch()`, so its `initial()` runs, with permissions,
throttles and all: who calls is known already, and what is raised is told as of any other tool.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from django.http import HttpRequest
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import JSONParser
from rest_framework.permissions import BasePermission

from mcp_app.catalog.encoding import encode
from mcp_app.catalog.errors import ToolError
from mcp_app.catalog.results import ToolResult
from mcp_app.integrations.refusals import problems, refusal
from mcp_app.integrations.requests import (
    Notes,
    WatchedDict,
    WatchedParser,
    request_for,
    watched,
)

_ERROR = 400
_NO_CONTENT = 204


class Exposed:
    """Mixed into the subclass of a viewset."""

    permitted = False
    """Whether its permissions have been asked for this call, and looked at nothing of it."""
    notes: Notes | None = None

    def get_parsers(self) -> list[Any]:
        """Arguments are JSON, under the names of the serializer's fields."""
        return [JSONParser() if self.notes is None else WatchedParser(self.notes)]

    def check_permissions(self, request: Any) -> None:
        """The view's own, once a call."""
        if not self.permitted:
            super().check_permissions(request)  # type: ignore[misc]

    def handle_exception(self, exc: Exception) -> Any:
        """Leave it to who calls the tool."""
        raise exc


@dataclass(frozen=True, eq=False)
class Action:
    """One action of a viewset.

    Attributes:
        viewset: the subclass.
        method: of HTTP, in capitals.
        detail: whether it is of one row.
        initkwargs: what a router would make the view with.
    """

    viewset: Any
    name: str
    method: str
    detail: bool
    initkwargs: Mapping[str, Any] = field(default_factory=dict)
    _settled: "WeakKeyDictionary[Any, bool]" = field(default_factory=WeakKeyDictionary)
    """The requests of which `has_permission` has been asked once and for all."""

    def view(self, request: Any, kwargs: dict[str, Any]) -> Any:
        """An instance, as `as_view()` makes one."""
        view = self.viewset(**self.initkwargs)
        view.action_map = {self.method.lower(): self.name}
        setattr(view, self.method.lower(), getattr(view, self.name))
        view.request, view.args, view.kwargs = request, (), kwargs
        view.action, view.format_kwarg = self.name, None
        return view

    def permits(self, request: Any) -> bool:
        """Whether the view's permissions admit the user of a tool's request, whatever the call.

        Raises:
            APIException: they do not, and say why.
        """
        notes = Notes()
        made = watched(self._http(request, data={}), notes)
        view = self.view(made, WatchedDict(notes))
        view.notes = notes
        view.request = view.initialize_request(made)
        negotiated = view.perform_content_negotiation(view.request)
        view.request.accepted_renderer, view.request.accepted_media_type = negotiated
        version = view.determine_version(view.request)
        view.request.version, view.request.versioning_scheme = version
        notes.looked = False
        view.check_permissions(view.request)
        self._settled[request] = not notes.looked
        return True

    def call(
        self, request: Any, kwargs: dict[str, Any], query: Mapping[str, Any], data: Any
    ) -> tuple[Any, HttpRequest]:
        """The view's response to a tool's request, and the request that it was shown.

        Raises:
            ArgumentsInvalid: the view does not take the arguments.
        """
        made = self._http(request, query=query, data=data)
        view = self.view(made, kwargs)
        view.permitted = self._settled.get(request, False)
        try:
            return view.dispatch(made, **kwargs), made
        except ValidationError as error:
            raise refusal(error.detail) from error

    def _http(self, request: Any, **parts: Any) -> HttpRequest:
        return request_for(request._request, request, self.method, **parts)


class ViewPermission(BasePermission):
    """Guards a tool by the permissions of its view; a subclass names the action."""

    action: Action

    def has_permission(self, request: Any, view: Any) -> bool:
        """As the view says, or raises."""
        return self.action.permits(request)


def subclass(viewset: Any) -> Any:
    """The viewset as a tool runs it."""
    names = {"__module__": viewset.__module__, "__doc__": viewset.__doc__}
    made = type(viewset.__name__, (Exposed, viewset), names)
    made.__qualname__ = viewset.__qualname__
    return made


def told(response: Any) -> Any:
    """What a tool gives of a view's response.

    Raises:
        ToolError: it holds no data.
    """
    if not hasattr(response, "data"):
        raise ToolError("The view answers with a page or a file, which a tool cannot give.")
    if response.status_code >= _ERROR:
        lines = [f"{path}: {text}" if path else text for path, text in problems(response.data)]
        return ToolResult(content="\n".join(lines), is_error=True)
    return None if response.status_code == _NO_CONTENT else encode(response.data)
