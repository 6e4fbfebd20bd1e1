"""What stands in for a DRF view when permission and throttle classes ask for one."""

from typing import Any, Final

from django.http import HttpRequest
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from mcp_app.catalog.definition import Declaration, Tool
from mcp_app.dispatch.context import Caller
from mcp_app.protocol.errors import ParseError
from mcp_app.protocol.messages import loads

_READ: Final = "GET"
_REMOVE: Final = "DELETE"
_WRITE: Final = "POST"


def method_of(declared: Declaration) -> str:
    """Its HTTP method, or the one its hints amount to, so that SAFE_METHODS classes mean it."""
    if isinstance(declared, Tool) and declared.method is not None:
        return declared.method
    if declared.read_only:
        return _READ
    return _REMOVE if isinstance(declared, Tool) and declared.destructive else _WRITE


class DeclaredView:
    """A tool, a resource or a prompt in the place of a view: what DRF's own classes read of one."""

    def __init__(self, declared: Declaration, request: Any) -> None:
        self.declared = declared
        self.tool = declared if isinstance(declared, Tool) else None
        self.request = request
        self.action = declared.name
        self.kwargs: dict[str, Any] = {}
        self.throttle_scope = declared.throttle_scope
        self.queryset = declared.queryset

    def get_queryset(self) -> Any:
        """A fresh copy of the declared queryset."""
        queryset = self.queryset
        return queryset.all() if queryset is not None else None


class UnseenView(DeclaredView):
    """Such a view, until somebody looks at it: then it is a plain one.

    What a class says without a look, it says of the caller and the method, and of every tool alike.
    """

    def __getattribute__(self, name: str) -> Any:
        """The attribute, and no more unseen."""
        object.__setattr__(self, "__class__", DeclaredView)
        return object.__getattribute__(self, name)


def is_unseen(view: DeclaredView | None) -> bool:
    """Whether nobody has looked at it since it was made."""
    return type(view) is UnseenView


class MessageParser(BaseParser):
    """Makes `request.data` the message, for classes that look at it: the very one that runs,
    whatever charset a header names.
    """

    media_type = "application/json"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        """The JSON value of the body; an empty object where there is none."""
        try:
            return loads(stream.read())
        except ParseError:
            return {}


class DeclaredRequest(Request):
    """DRF's request for one call: already authenticated, its method the declaration's."""

    def __init__(self, request: HttpRequest, caller: Caller, method: str) -> None:
        super().__init__(request, parsers=[MessageParser()])
        self.method = method
        # The private names are how DRF itself carries a user into a request that it clones.
        self._user = caller.user
        self._auth = caller.auth
        self._authenticator = None
