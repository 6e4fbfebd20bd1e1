"""Who uses a token, by secret, as its calls tell; and who still tries a secret that has ended."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from mcp_app.conf import settings
from mcp_app.models import CallEvent, CallOutcome, Token, TokenSecret

RECENT_CALLS: Final = 1000
"""How far back the calls of a token are looked through: a client may be refused every second."""
MOST_CALLERS: Final = 5
"""Callers that are named for one secret."""
MOST_ATTEMPTS: Final = 1000
"""Refused attempts that are counted; of more it is said that there are more."""
MOST_SECRETS: Final = 10


@dataclass(frozen=True, slots=True)
class Caller:
    """A client at an address, and its latest call with a secret."""

    client: str
    address: str
    calls: int
    last_at: datetime

    @property
    def who(self) -> tuple[str, str]:
        """What it is told apart by."""
        return self.client, self.address


@dataclass(frozen=True, slots=True)
class Attempts:
    """Calls that were refused since a secret ended, and the latest of them."""

    count: int
    is_more: bool
    last: Caller


@dataclass(frozen=True, slots=True)
class SecretUse:
    """One secret and what is known of its use.

    Attributes:
        ended_at: since when it is refused; None while it is good.
        callers: who called with it lately, the latest first.
        staying: those of them who have not called with a newer secret since: its end cuts them off.
        moved: how many have.
        attempts: None while it is good, and where nobody has tried it since.
    """

    secret: TokenSecret
    ended_at: datetime | None
    callers: list[Caller]
    staying: list[Caller]
    moved: int
    attempts: Attempts | None

    @property
    def last(self) -> Caller | None:
        """Who called with it last, as far as calls are kept and looked through."""
        return self.callers[0] if self.callers else None


@dataclass(frozen=True, slots=True)
class Grace:
    """An old secret that still works until it ends.

    Attributes:
        is_used: whether it was used since the newest was made: then somebody is yet to change over.
    """

    secret: TokenSecret
    ends_at: datetime
    is_used: bool


def graces(token: Token, now: datetime) -> list[Grace]:
    """The secrets of a token that are in the grace of a rotation, the newest first."""
    if token.is_over:
        return []
    return [
        Grace(secret, secret.ends_at, _is_used(secret, token))
        for secret in token.working_secrets(now)
        if secret.valid_until is not None and secret.ends_at is not None
    ]


def _is_used(secret: TokenSecret, token: Token) -> bool:
    newest = max(token.secrets.all(), key=lambda one: one.pk)
    return secret.last_used_at is not None and secret.last_used_at > newest.created_at


def uses(token: Token, now: datetime) -> list[SecretUse]:
    """The secrets of a token, the newest first."""
    called, newer = _callers(token), dict[tuple[str, str], datetime]()
    found = []
    for secret in token.secrets.order_by("-id")[:MOST_SECRETS]:
        callers = called.get(secret.lookup, [])
        staying = [one for one in callers if newer.get(one.who, one.last_at) <= one.last_at]
        found.append(_use(token, secret, callers, staying, now))
        newer |= {one.who: max(one.last_at, newer.get(one.who, one.last_at)) for one in callers}
    return found


def use_of(token: Token, lookup: str, now: datetime) -> SecretUse | None:
    """The same of one secret; None where the token has none of that lookup."""
    return next((use for use in uses(token, now) if use.secret.lookup == lookup), None)


def _use(
    token: Token, secret: TokenSecret, callers: list[Caller], staying: list[Caller], now: datetime
) -> SecretUse:
    ended_at = ended(token, secret, now)
    return SecretUse(
        secret,
        ended_at,
        callers=callers[:MOST_CALLERS],
        staying=staying[:MOST_CALLERS],
        moved=len(callers) - len(staying),
        attempts=_attempts(token, secret, ended_at) if ended_at else None,
    )


def ended(token: Token, secret: TokenSecret, now: datetime) -> datetime | None:
    """Since when a secret is refused: it, its token or the token's life is over."""
    ends = (secret.valid_until, token.revoked_at, token.ends_at)
    return min((end for end in ends if end is not None and end <= now), default=None)


def _calls(token: Token) -> Any:
    return CallEvent.objects.using(settings.AUDIT_DATABASE).filter(token=token.pk)


def _callers(token: Token) -> dict[str, list[Caller]]:
    """By lookup, who was let in with it among the token's latest calls."""
    fields = ("token_lookup", "outcome", "client_name", "client_version", "address", "created_at")
    rows = _calls(token).order_by("-created_at").values_list(*fields)[:RECENT_CALLS]
    found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for lookup, outcome, *call in rows:
        if outcome != CallOutcome.UNAUTHENTICATED:
            found[lookup].append(tuple(call))
    return {lookup: _grouped(calls) for lookup, calls in found.items()}


def _grouped(calls: Iterable[tuple[Any, ...]]) -> list[Caller]:
    """Calls, the latest first, as one `Caller` for each client and address."""
    moments: dict[tuple[str, str], list[datetime]] = defaultdict(list)
    for name, version, address, at in calls:
        moments[f"{name} {version}".strip(), address or ""].append(at)
    return [Caller(*who, calls=len(at), last_at=at[0]) for who, at in moments.items()]


def _attempts(token: Token, secret: TokenSecret, since: datetime) -> Attempts | None:
    refused = _calls(token).filter(
        token_lookup=secret.lookup, outcome=CallOutcome.UNAUTHENTICATED, created_at__gte=since
    )
    fields = ("client_name", "client_version", "address", "created_at")
    rows = list(refused.order_by("-created_at").values_list(*fields)[: MOST_ATTEMPTS + 1])
    if not rows:
        return None
    return Attempts(min(len(rows), MOST_ATTEMPTS), len(rows) > MOST_ATTEMPTS, _grouped(rows)[0])
