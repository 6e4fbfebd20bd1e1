"""Arguments as they may be stored: secrets replaced, structure kept, size bounded, always JSON.

Pure functions over JSON values; they know no Django and no settings.
"""

import hmac
import html
import json
import math
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypeVar
from urllib.parse import quote, quote_plus

from mcp_app.audit.keys import SecretKeys, secret_keys
from mcp_app.audit.patterns import REDACTED, SHORTEST, is_card
from mcp_app.audit.text import redact_text, truncation
from mcp_app.catalog.disclosure import Disclosure

Kept = TypeVar("Kept")
_Part = tuple[Any, bool, Disclosure | None]
"""Something in a value, whether it is secret itself, and the rules for what is in it."""

LIMIT: Final = 16 * 1024
"""How much JSON text one event's arguments may take, in characters."""

_STRING_LIMIT: Final = 4096
_NAME_LIMIT: Final = 128
_ITEM_LIMIT: Final = 1000
_DEPTH_LIMIT: Final = 16
_NODE_LIMIT: Final = 100_000
_HIDDEN_LIMIT: Final = 256 * 1024
_ITEM_COST: Final = 4
_CONTAINERS: Final = (Mapping, list, tuple)
# Each level that is cut short adds one marker after the budget is spent.
_MARKERS: Final = (_DEPTH_LIMIT + 2) * 48


def stored_arguments(
    arguments: Any,
    level: str,
    *,
    keys: SecretKeys | None = None,
    disclosure: Disclosure | None = None,
    limit: int = LIMIT,
    key: bytes = b"",
) -> Any:
    """What an event keeps of a call's arguments, as a JSON value.

    Args:
        arguments: what the caller sent; None where there was nothing.
        level: "none" keeps nothing, "names" the top-level names, "redacted" everything but
            secrets, "digest" the keyed `digest` of them all, secrets included.
        keys: names whose values are secret at any depth; None means the built-in ones.
        disclosure: the names under which values are kept; None means all.
        limit: of the JSON text, in characters.
        key: of the digest; without it whoever reads one could try values until one fits.
    """
    if arguments is None or level == "none":
        return None
    if level == "digest":
        return {"hmac_sha256": digest(arguments, key)}
    kept = redact(arguments, keys=keys, disclosure=disclosure, limit=limit)
    if level == "names":
        return list(kept) if isinstance(kept, dict) else []
    return kept


def redact(
    value: Any,
    *,
    keys: SecretKeys | None = None,
    disclosure: Disclosure | None = None,
    limit: int = LIMIT,
) -> Any:
    """A copy of `value` with every secret replaced by `[redacted]`, that any JSON column can hold.

    NUL and lone surrogates become U+FFFD, NaN and infinities their names, values that JSON does
    not know the name of their type. What exceeds the limits is cut, with a marker that says so.
    """
    return _Walk(keys or secret_keys(), limit - _MARKERS).value(value, 0, disclosure)


def digest(value: Any, key: bytes) -> str:
    """HMAC-SHA256 of `value` as JSON with sorted keys, without spaces, in ASCII; hexadecimal."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=_type_name)
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def hidden_texts(
    value: Any, *, keys: SecretKeys | None = None, disclosure: Disclosure | None = None
) -> list[str] | None:
    """The texts and numbers, of 3 characters or more, that `redact` replaces by their name.

    For looking them up elsewhere: an error message may quote them, as they are or escaped. None
    where that would take too long: then nobody knows what a message quotes.
    """
    texts: set[str] = set()
    room = _HIDDEN_LIMIT
    try:
        for leaf in _hidden(value, keys or secret_keys(), disclosure):
            new = {text for text in _leaf_texts(leaf) if len(text) >= SHORTEST} - texts
            texts |= new
            room -= sum(map(len, new))
            if room < 0 or len(texts) > _ITEM_LIMIT:
                return None
    except _TooMuch:
        return None
    return sorted(texts.union(*map(_escaped, texts)))


_NO_CARD: Final = 10**12
"""Numbers of no more than twelve digits are no payment card's."""


class _TooMuch(Exception):
    """More parts than are looked at."""


class _Walk:
    """One pass over one value; `budget` is what is left of the size, in characters of JSON."""

    __slots__ = ("budget", "keys")

    def __init__(self, keys: SecretKeys, budget: int) -> None:
        self.keys = keys
        self.budget = budget

    def value(self, value: Any, depth: int, rules: Disclosure | None = None) -> Any:
        # What most arguments are, first: it takes no look at what else it might be.
        if type(value) is str:
            return self._text(value, _STRING_LIMIT)
        if type(value) is int and -_NO_CARD < value < _NO_CARD:
            return self._spend(value)
        if not isinstance(value, Mapping | list | tuple | set | frozenset):
            return self._scalar(value)
        if depth >= _DEPTH_LIMIT:
            return self._spend("[nested too deeply]")
        if isinstance(value, Mapping):
            return self._mapping(value, depth, rules)
        return self._items(value, depth, rules)

    def _scalar(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value, _STRING_LIMIT)
        known = value is None or isinstance(value, bool | int | float)
        return self._spend(_number(value) if known else _type_name(value))

    def _mapping(
        self, value: Mapping[Any, Any], depth: int, rules: Disclosure | None
    ) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, item in islice(value.items(), _ITEM_LIMIT):
            if self.budget <= 0:
                break
            name = str(key)
            shown, below = _rules_for(name, item, self.keys, rules)
            stored = _unused(self._text(name, _NAME_LIMIT), kept)
            kept[stored] = self.value(item, depth + 1, below) if shown else self._spend(REDACTED)
        if len(kept) < len(value):
            kept[_unused("…", kept)] = f"[{len(value) - len(kept)} more]"
        return kept

    def _items(self, value: Collection[Any], depth: int, rules: Disclosure | None) -> list[Any]:
        kept: list[Any] = []
        for item in islice(value, _ITEM_LIMIT):
            if self.budget <= 0:
                break
            scalar = rules is not None and not isinstance(item, _CONTAINERS)
            kept.append(self._spend(REDACTED) if scalar else self.value(item, depth + 1, rules))
        if len(kept) < len(value):
            kept.append(f"… [{len(value) - len(kept)} more]")
        return kept

    def _text(self, text: str, limit: int) -> str:
        kept = redact_text(text, self.keys, limit=min(limit, max(self.budget, 0)))
        cost = _json_length(kept)
        if cost > self.budget:
            kept = _fitting(kept, self.budget) + truncation(len(text))
        self.budget -= cost + _ITEM_COST
        return kept

    def _spend(self, value: Kept) -> Kept:
        self.budget -= len(str(value)) + _ITEM_COST
        return value


def _json_length(text: str) -> int:
    if text.isascii() and text.isprintable():
        return len(text) + 2 + text.count('"') + text.count("\\")
    return len(json.dumps(text))


def _fitting(text: str, room: int) -> str:
    """As much of `text` as takes at most `room` characters once it is JSON in ASCII."""
    for position, character in enumerate(text):
        plain = " " <= character <= "~" and character not in '"\\'
        room -= 1 if plain else 6 if character <= "\uffff" else 12
        if room < 0:
            return text[:position]
    return text


def _number(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        return REDACTED if value.is_integer() and is_card(f"{value:.0f}") else float(value)
    if value.bit_length() > 64:
        # Python itself refuses to read such a number back once it has 4,300 digits.
        return f"[integer of {value.bit_length()} bits]"
    return REDACTED if is_card(str(int(value))) else int(value)


def _unused(name: str, taken: Mapping[str, Any]) -> str:
    number, candidate = 2, name
    while candidate in taken:
        candidate, number = f"{name} ({number})", number + 1
    return candidate


def _leaf_texts(leaf: Any) -> tuple[str, ...]:
    """How a message would quote `leaf`, or either end of a long one; nothing where it could not."""
    if isinstance(leaf, str):
        return leaf[:_STRING_LIMIT], leaf[-_STRING_LIMIT:]
    is_number = isinstance(leaf, int | float) and not isinstance(leaf, bool)
    return (str(leaf),) if is_number and abs(leaf) < 2**64 else ()


def _type_name(value: Any) -> str:
    return f"[{type(value).__name__}]"


def _rules_for(
    name: str, value: Any, keys: SecretKeys, rules: Disclosure | None
) -> tuple[bool, Disclosure | None]:
    """Whether what stands under `name` may be kept, and the rules for what is in it."""
    if keys.match(name):
        return False, None
    if rules is None or name in rules.open:
        return True, None
    # A text where an object with secret parts belongs may be that object as JSON.
    return name in rules.partial and isinstance(value, _CONTAINERS), rules.below


def _escaped(text: str) -> set[str]:
    """How messages write `text`: as Python, JSON, URLs and HTML do, browsers and MarkupSafe too.

    Letters beyond ASCII are escaped in some of them, and stay in others.
    """
    sent, marked = text.encode(errors="replace"), html.escape(text)
    return {
        repr(text)[1:-1],
        repr(sent)[2:-1],
        ascii(text)[1:-1],
        text.encode("unicode_escape").decode(),
        json.dumps(text)[1:-1],
        json.dumps(text, ensure_ascii=False)[1:-1],
        quote(sent),
        quote(sent, safe=""),
        quote(sent, safe="!~*'()"),
        quote_plus(sent),
        html.escape(text, quote=False),
        marked,
        marked.replace("&quot;", "&#34;").replace("&#x27;", "&#39;"),
        marked.encode("ascii", "xmlcharrefreplace").decode(),
    }


def _hidden(value: Any, keys: SecretKeys, disclosure: Disclosure | None) -> Iterator[Any]:
    """The leaves that `redact` leaves out. Raises `_TooMuch` rather than look for too long."""
    pending: list[_Part] = [(value, False, disclosure)]
    room = _NODE_LIMIT
    while pending:
        part, secret, rules = pending.pop()
        if isinstance(part, _CONTAINERS):
            room -= len(part)
            if room < 0:
                raise _TooMuch
            pending += _parts(part, secret, keys, rules)
        elif (secret or rules is not None) and part is not None:
            yield part


def _parts(whole: Any, secret: bool, keys: SecretKeys, rules: Disclosure | None) -> Iterator[_Part]:
    if not isinstance(whole, Mapping):
        yield from ((part, secret, rules) for part in whole)
        return
    for name, part in whole.items():
        shown, below = _rules_for(str(name), part, keys, rules)
        yield part, secret or not shown, below
