"""One caller's access, asked by lists and calls alike, remembered for the length of a request."""

import logging
from collections.abc import Callable
from typing import Any, Final

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from rest_framework.exceptions import APIException
from rest_framework.permissions import AllowAny
from rest_framework.throttling import BaseThrottle

from mcp_app.access.view import DeclaredRequest, DeclaredView, method_of
from mcp_app.catalog.definition import Declaration
from mcp_app.conf import settings
from mcp_app.dispatch.context import Caller

logger: Final = logging.getLogger("mcp_app.access")

_OPEN: Final = (AllowAny,)


class CallerAccess:
    """Answers `dispatch.services.Access` for one caller.

    Args:
        caller: who asks.
        http_request: makes the Django request, once somebody needs it.
    """

    def __init__(self, caller: Caller, http_request: Callable[[], HttpRequest]) -> None:
        self._caller = caller
        self._http_request = http_request
        self._requests: dict[str, DeclaredRequest] = {}
        self._permitted: dict[Declaration, bool] = {}

    def permits(self, declared: Declaration) -> bool:
        """Whether every permission class of it admits the caller."""
        known = self._permitted.get(declared)
        if known is None:
            known = self._permitted[declared] = self._ask(declared)
        return known

    def retry_after(self, declared: Declaration) -> float | None:
        """Ask every throttle, as DRF does, so that each counts; the longest wait wins."""
        classes = _or_default(declared.throttle_classes, settings.throttle_classes)
        if not classes:
            return None
        request = self.request_for(declared)
        view = DeclaredView(declared, request)
        throttles: list[BaseThrottle] = [cls() for cls in classes]
        waits = [
            throttle.wait()
            for throttle in throttles
            if not throttle.allow_request(request, view)  # type: ignore[arg-type]
        ]
        return max((wait or 1.0 for wait in waits), default=None)

    def request_for(self, declared: Declaration) -> DeclaredRequest:
        """The DRF request for whatever has its hints."""
        method = method_of(declared)
        request = self._requests.get(method)
        if request is None:
            request = DeclaredRequest(self._http_request(), self._caller, method)
            self._requests[method] = request
        return request

    def is_public(self, declared: Declaration) -> bool:
        """Whether anybody at all may use it."""
        classes = _or_default(declared.permission_classes, settings.permission_classes)
        return settings.ALLOW_ANONYMOUS and classes == _OPEN and not declared.scopes

    def _ask(self, declared: Declaration) -> bool:
        classes = _or_default(declared.permission_classes, settings.permission_classes)
        if classes == _OPEN:
            return True
        try:
            request = self.request_for(declared)
            view: Any = DeclaredView(declared, request)
            return all(cls().has_permission(request, view) for cls in classes)
        except (APIException, Http404, PermissionDenied):
            return False
        except Exception:
            # A gate that breaks stays shut, and one broken gate hides nothing else.
            logger.exception("A permission class of %s %r failed", declared.noun, declared.key)
            return False


def _or_default(own: tuple[Any, ...] | None, default: tuple[type, ...]) -> tuple[Any, ...]:
    return default if own is None else own
