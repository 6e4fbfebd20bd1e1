"""One caller's access, asked by lists and calls alike, remembered for the length of a request."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from django.http import HttpRequest
from rest_framework.throttling import BaseThrottle

from mcp_app.access.in_force import Announced
from mcp_app.access.permissions import Permissions, are_open
from mcp_app.access.switches import Switches
from mcp_app.access.throttling import SlidingWindowThrottle
from mcp_app.access.view import (
    DeclaredRequest,
    DeclaredView,
    method_of,
)
from mcp_app.catalog.definition import Declaration, Tool
from mcp_app.catalog.registry import MCPServer
from mcp_app.conf import settings
from mcp_app.dispatch.context import Caller, Cancellation, Context, Silence
from mcp_app.dispatch.hooks import CANNOT_ASK, hidden, introduced
from mcp_app.dispatch.inputs import InputUnavailable
from mcp_app.protocol import envelope
from mcp_app.protocol.errors import LimitsUnavailable, SwitchedOff
from mcp_app.protocol.route import Route
from mcp_app.protocol.versions import VERSIONS
from mcp_app.rates import outage

Declared = TypeVar("Declared", bound=Declaration)


class CallerAccess:
    """Answers `dispatch.services.Access` for one caller.

    Args:
        caller: who asks.
        http_request: makes the Django request, once somebody needs it.
        server: whose tools they are.
        route: how the request is answered, where there is one.
        announced: the server's switches, where they were read ahead.
        switches: the same, where they have been read already.
    """

    def __init__(
        self,
        caller: Caller,
        http_request: Callable[[], HttpRequest],
        server: MCPServer,
        route: Route | None = None,
        announced: Announced | None = None,
        *,
        switches: Switches | None = None,
    ) -> None:
        self._server = server
        self._route = route
        self._introduction: Mapping[str, Any] | None = None
        self._caller = caller
        self._http_request = http_request
        self._requests: dict[str, DeclaredRequest] = {}
        self._permitted: dict[Declaration, bool] = {}
        self._permissions = Permissions(caller.user)
        self._hidden: Mapping[Any, str] = {}
        self._switches = switches or Switches(server, announced)

    def permits(self, declared: Declaration) -> bool:
        """Whether every permission class of it admits the caller."""
        known = self._permitted.get(declared)
        if known is None:
            self._consider([declared])
            known = self._permitted[declared]
        return known

    def permitted(self, declarations: Iterable[Declared]) -> list[Declared]:
        """Those that `permits` admits, asked for together."""
        asked = list(declarations)
        self._consider(asked)
        return [declared for declared in asked if self._permitted[declared]]

    def _consider(self, declarations: Iterable[Declaration]) -> None:
        """Ask the permission classes, and `MCP_APP["LIST_TOOLS"]` of all tools at once.

        A hook is given the whole list for a call, too: what it does not list is not callable.
        """
        asked = [declared for declared in declarations if declared not in self._permitted]
        hooks = settings.list_tools
        if hooks and any(isinstance(declared, Tool) for declared in asked):
            asked = list(dict.fromkeys([*self._server.tools.values(), *asked]))
        self._permitted |= self._permissions.verdicts(tuple(asked), self.request_for)
        if not hooks:
            return
        tools = [tool for tool in asked if isinstance(tool, Tool) and self._permitted[tool]]
        if tools:
            self._hidden = hidden(hooks, self._context(), tools)
            self._permitted |= dict.fromkeys(self._hidden, False)

    def hidden_by(self, declared: Declaration) -> str:
        """The hook that leaves it out of the caller's list; empty where none does."""
        return self._hidden.get(declared, "")

    def refused_by(self, declared: Declaration) -> str:
        """The permission class that did not admit the caller; empty where none refused."""
        return self._permissions.refused_by(declared)

    def switched_off(self, declared: Declaration) -> SwitchedOff | None:
        """What a call of it is told where a switch refuses it."""
        return self._switches.refusal_of(declared)

    def switched_on(self, declarations: list[Declaration]) -> list[Declaration]:
        """Those that no switch refuses."""
        return self._switches.spared(declarations)

    def in_maintenance(self) -> SwitchedOff | None:
        """What every request is told while the server is closed."""
        return self._switches.closing()

    def introduction(self) -> Mapping[str, Any]:
        """What `MCP_APP["SERVER_INFO"]` says to the caller; hooks that break say nothing."""
        if self._introduction is None:
            hooks = settings.server_info_hooks
            self._introduction = introduced(hooks, self._context()) if hooks else {}
        return self._introduction

    def _context(self) -> Context:
        """For a hook: who is calling, and nobody to ask or to report to."""
        return Context(
            caller=self._caller,
            tool_name="",
            route=self._route or Route(version=VERSIONS[0], dialect=envelope.DIALECT),
            session=None,
            request=lambda: DeclaredRequest(self._http_request(), self._caller, "GET"),
            outlet=Silence(),
            cancellation=Cancellation(),
            correlation_id="",
            inputs=InputUnavailable(CANNOT_ASK),
        )

    def retry_after(self, declared: Declaration) -> float | None:
        """Ask every throttle, as DRF does; the longest wait wins.

        A call that one of them refuses counts against none that can take it back.

        Raises:
            LimitsUnavailable: where they count is away, and calls are not to go uncounted.
        """
        own = declared.throttle_classes
        classes = settings.throttle_classes if own is None else own
        if not classes:
            return None
        request = self.request_for(declared)
        view = DeclaredView(declared, request)
        throttles: list[BaseThrottle] = [cls() for cls in classes]
        try:
            return _longest_wait(throttles, request, view)
        except Exception as error:
            outage.note(error)
            if settings.THROTTLE_FAIL_OPEN:
                return None
            raise LimitsUnavailable from error

    def request_for(self, declared: Declaration) -> DeclaredRequest:
        """The DRF request for whatever has its hints."""
        method = method_of(declared)
        request = self._requests.get(method)
        if request is None:
            request = DeclaredRequest(self._http_request(), self._caller, method)
            self._requests[method] = request
        return request

    def are_public(self, declarations: Iterable[Declaration]) -> bool:
        """Whether anybody at all may use all of them."""
        return settings.ALLOW_ANONYMOUS and are_open(declarations)


def _longest_wait(throttles: list[BaseThrottle], request: Any, view: Any) -> float | None:
    admitting: list[BaseThrottle] = []
    waits: list[float] = []
    for throttle in throttles:
        if throttle.allow_request(request, view):
            admitting.append(throttle)
        else:
            waits.append(throttle.wait() or 1.0)
    if not waits:
        return None
    for throttle in admitting:
        if isinstance(throttle, SlidingWindowThrottle):
            throttle.give_back()
    return max(waits)
