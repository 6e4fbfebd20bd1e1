"""DRF throttle classes over a sliding window that is exact across processes (on a Redis cache).

Name them in `throttle_classes=[…]` or `MCP_APP["DEFAULT_THROTTLE_CLASSES"]`; their rates stand in
`MCP_APP["THROTTLE_RATES"]`, such as `{"user": "100/min"}`, and a class without a rate limits
nothing. A refused call counts against none of them.
"""

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from rest_framework.throttling import BaseThrottle, SimpleRateThrottle

from mcp_app.address import client_address, network_of
from mcp_app.conf import settings
from mcp_app.models import Token
from mcp_app.rates import counters
from mcp_app.rates.counters import Ticket
from mcp_app.rates.window import Rate


class SlidingWindowThrottle(SimpleRateThrottle):
    """A limit on whatever `get_cache_key` names; subclasses say `scope`, or `rate` outright."""

    rate: str | None

    def get_rate(self) -> str | None:
        """What `MCP_APP["THROTTLE_RATES"]` has for the scope."""
        rate: str | None = settings.THROTTLE_RATES.get(self.scope)
        return rate

    def counted(self, request: Any, view: Any) -> tuple[str, Rate] | None:
        """Under what a call is counted, and at which rate; None for one that is not limited."""
        if self.rate is None or (key := self.get_cache_key(request, view)) is None:
            return None
        return f"{self.scope or type(self).__qualname__}:{key}", Rate.parse(self.rate)

    def allow_request(self, request: Any, view: Any) -> bool:
        """Count the call, if it fits."""
        self._taken: tuple[str, Rate, Ticket] | None = None
        taking = self.counted(request, view)
        if taking is None:
            return True
        ticket = counters.take(*taking)
        self._wait = ticket.wait
        self._taken = None if ticket.wait else (*taking, ticket)
        return not ticket.wait

    def wait(self) -> float:
        """Seconds until the next call fits, if nobody else calls meanwhile."""
        return self._wait

    def give_back(self) -> None:
        """The call that was counted does not happen: another limit refused it."""
        if self._taken is not None:
            counters.give_back(*self._taken)


class UserThrottle(SlidingWindowThrottle):
    """Calls of one user, whatever the token; of an address (of IPv6, one /64), where nobody is
    signed in."""

    scope = "user"

    def get_cache_key(self, request: Any, view: Any) -> str:
        """The user, or the address."""
        return _user_or_address(request)


class TokenThrottle(SlidingWindowThrottle):
    """Calls with one token, before and after its rotation."""

    scope = "token"

    def get_cache_key(self, request: Any, view: Any) -> str | None:
        """The token; nothing for callers without one."""
        return str(request.auth.pk) if isinstance(request.auth, Token) else None


class ToolThrottle(SlidingWindowThrottle):
    """Calls of one tool by one user. `throttle_scope=` of the tool names another rate for it."""

    scope = "tool"

    def counted(self, request: Any, view: Any) -> tuple[str, Rate] | None:
        """At the rate that the tool names."""
        scope = view.throttle_scope
        if scope is not None and scope != self.scope:
            self.scope, self.rate = scope, settings.THROTTLE_RATES.get(scope)
        return super().counted(request, view)

    def get_cache_key(self, request: Any, view: Any) -> str:
        """The user with the tool's name."""
        return f"{_user_or_address(request)}:{view.declared.noun}:{view.declared.key}"


class AddressThrottle(SlidingWindowThrottle):
    """Calls from one address (of IPv6, one /64), as `MCP_APP["NUM_PROXIES"]` lets it be known."""

    scope = "address"

    def get_cache_key(self, request: Any, view: Any) -> str:
        """The address."""
        return network_of(client_address(request))


def rate_of(cls: Any, throttle_scope: str | None) -> str | None:
    """The rate that a throttle class has for what names a scope of its own, or none."""
    try:
        throttle = cls()
    except ImproperlyConfigured:  # how DRF says that a scope has no rate
        return None
    if isinstance(throttle, ToolThrottle) and throttle_scope is not None:
        throttle.rate = settings.THROTTLE_RATES.get(throttle_scope)
    rate: str | None = getattr(throttle, "rate", None)
    return rate


@dataclass(frozen=True, slots=True)
class Budget:
    """What a throttle would say to a call now: calls used of the rate, and seconds to wait."""

    rate: str
    used: int
    wait: float


def budget(throttle: BaseThrottle, request: Any, view: Any) -> Budget | None:
    """The state of a throttle, with nothing counted; None where it limits nothing.

    Raises:
        NotImplementedError: a class that only counting would make say it.
        Exception: whatever the cache raises when it is away.
    """
    own: Any = type(throttle).allow_request
    if own is SlidingWindowThrottle.allow_request:
        assert isinstance(throttle, SlidingWindowThrottle)
        counted = throttle.counted(request, view)
        if counted is None:
            return None
        count, rate = counters.look(*counted), counted[1]
        return Budget(str(throttle.rate), count.used(rate), count.wait(rate))
    if own is SimpleRateThrottle.allow_request:
        return _budget_of_drf(throttle, request, view)
    raise NotImplementedError(f"{type(throttle).__name__} can only be asked by counting")


def _budget_of_drf(throttle: Any, request: Any, view: Any) -> Budget | None:
    """DRF's own classes keep the moments of the calls, newest first."""
    key = None if throttle.rate is None else throttle.get_cache_key(request, view)
    if key is None:
        return None
    now = throttle.timer()
    moments = [at for at in throttle.cache.get(key, []) if at > now - throttle.duration]
    full = len(moments) >= throttle.num_requests
    wait = throttle.duration - (now - moments[throttle.num_requests - 1]) if full else 0.0
    return Budget(str(throttle.rate), len(moments), wait)


def _user_or_address(request: Any) -> str:
    key = getattr(request.user, "pk", None)
    return f"user-{key}" if key is not None else f"address-{network_of(client_address(request))}"
