"""Secrets that give themselves away inside any text: tokens, credentials, cards, private keys.

Knows their shapes and where they stand. Knows nothing of arguments or of storing.
"""

import base64
import binascii
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from mcp_app import token_form
from mcp_app.audit.keys import SecretKeys

REDACTED: Final = "[redacted]"

SHORTEST: Final = 3
"""In characters: what is shorter is in too many innocent words to be looked up."""

PIECE: Final = 6
"""In characters: of a known secret so much of its beginning or end gives it away."""

Span = tuple[int, int]

# No pattern below matches without one of these: most texts have none and are done in one pass.
# Each begins with one character and no set of them: only then a search skips all others quickly.
# So do the alternatives of the patterns below.
_CARD_STARTS: Final = r"2[\d -]{11}|3[\d -]{11}|4[\d -]{11}|5[\d -]{11}|6[\d -]{11}"
_SUSPECT: Final = re.compile(
    r":|=|mcp_|eyJ|-----|gh[opsur]_|github_pat|sk-|pk_|rk_|sk_|xox|AKIA|AIza"
    r"|B(?i:earer|asic)|b(?i:earer|asic)|T(?i:oken)|t(?i:oken)"
    rf"|{_CARD_STARTS}|{token_form.BASE64_STARTS}"
)
_LEAST: Final = 16  # of the hidden characters of a token of ours; words in names are shorter
# Every repetition is bounded or cannot restart inside its own match, so that no text is slow.
_TOKENS: Final = re.compile(
    rf"{token_form.plain(_LEAST)}"
    r"|-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [^-]{0,60}-----|\Z)"
    r"|g(?<![0-9A-Za-z]g)(?:h[opsur]_[0-9A-Za-z]{20,}|ithub_pat_\w{20,})"
    r"|s(?<![0-9A-Za-z]s)k-[\w-]{20,}"
    r"|p(?<![0-9A-Za-z]p)k_(?:live|test)_\w{16,}"
    r"|r(?<![0-9A-Za-z]r)k_(?:live|test)_\w{16,}"
    r"|s(?<![0-9A-Za-z]s)k_(?:live|test)_\w{16,}"
    r"|x(?<![0-9A-Za-z]x)ox[abeoprs]-[\w-]{10,}"
    r"|A(?<![0-9A-Za-z]A)(?:KIA[0-9A-Z]{16}|Iza[\w-]{30,})",
    re.DOTALL,
)
_ENCODES: Final = re.compile(token_form.ENCODES)
_ENCODED: Final = re.compile(token_form.encoded(_LEAST))
_BASE64: Final = re.compile(token_form.base64(_LEAST))
_DOTTED: Final = re.compile(r"(?<![\w-])[\w-]{8,}(?:\.[\w-]*)+")
# The value stands in a lookahead, so that one credential does not hide the next.
_SCHEMES: Final = re.compile(
    r"(?:B(?i:earer)|b(?i:earer))\s{1,8}(?=([^\s\"',;]+))"
    r"|(?:T(?i:oken)|t(?i:oken))\s{1,8}(?=([0-9A-Fa-f]{32,}))"
)
_BASIC: Final = re.compile(r"[Bb](?i:asic)\s{1,8}(?=([\w+/-]{4,}={0,2}))")
_HEADERS: Final = re.compile(
    r"(?:A(?i:uthorization)|a(?i:uthorization)|C(?i:ookie)|c(?i:ookie))"
    r"[\"']?\s{0,8}[:=]\s{0,8}([\"']?[^\r\n\"']+)"
)
_URLS: Final = re.compile(r"://[^/\s:@]{0,256}:([^@\s/]{1,1024})@")
_NAMES: Final = re.compile(r"(?<!\w)(\w[\w-]{0,63})[\"')\]\\]{0,3}\s{0,4}(?:=>|[=:]{1,2})\s{0,4}")
# "password: is required" says nothing of the password; "password: hunter2" does.
_PROSE: Final = re.compile(
    r"(?:is|are|was|were|should|must|may|can|cannot|has|have|does|did|will|this|that|these|the|an?"
    r"|not|no|ensure|enter|please|invalid|required|missing|unknown|expected|too|at|only"
    r"|(?:string|value|input|field|text|number|list|data|url|bytes)\s(?:should|must|is|was|has|may))"
    r"(?=[\s.,;]|$)",
    re.IGNORECASE,
)
_VALUE: Final = re.compile(
    r"\\\"(?:[^\\]|\\[^\"])*(?:\\\")?|\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?"
    r"|\([^)]*|\[[^\]]*|\{[^}]*|[^\s,;&\"'<>(){}\[\]]+",
    re.DOTALL,
)
_DIGITS: Final = re.compile(r"(?<!\d)\d{3,19}(?!\d)(?:[ -]\d{3,19}(?!\d))*")
_GROUP: Final = re.compile(r"\d+")
_MOST_GROUPS: Final = 6
_MAYBE_CARD: Final = re.compile(_CARD_STARTS)
_CARD: Final = re.compile(r"[3-6]\d{12,18}|2[2-7]\d{14}")


def find_secrets(text: str, keys: SecretKeys) -> list[Span]:
    """Where `text` holds something that must not be stored, as spans that may overlap."""
    found = []
    if _ENCODES.search(text):
        found += [match.span() for match in _ENCODED.finditer(text)]
    if _SUSPECT.search(text):
        found += _find_plain(text, keys)
    return found


def _find_plain(text: str, keys: SecretKeys) -> Iterator[Span]:
    """Those that stand as they are; nothing where `_SUSPECT` finds nothing."""
    yield from (match.span() for match in _TOKENS.finditer(text))
    yield from (match.span() for match in _BASE64.finditer(text))
    yield from _web_tokens(text)
    yield from _scheme_credentials(text)
    yield from (match.span(1) for match in _URLS.finditer(text))
    yield from _named_values(text, keys)
    yield from _cards(text)


def find_known(text: str, known: Iterable[str]) -> Iterator[Span]:
    """Where `text` holds one of the `known` secrets, or its first or last characters.

    In any letter case: messages shorten what they quote, and programs fold it.
    """
    text = _folded(text)
    for secret in map(_folded, known):
        yield from _whole(text, secret) if len(secret) < PIECE else _pieces(text, secret)


def _folded(text: str) -> str:
    """In small letters, as long as it was: what has no single small letter stays."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(one if len(one := each.lower()) == 1 else each for each in text)


def _whole(text: str, secret: str) -> Iterator[Span]:
    for start in _places(text, secret):
        end = start + len(secret)
        if len(secret) > SHORTEST or _is_word(text, start, end):
            yield start, end


def _pieces(text: str, secret: str) -> Iterator[Span]:
    """Each place that has the beginning of `secret` or its end, as far as it goes."""
    for start in _places(text, secret[:PIECE]):
        yield start, start + _longest(secret, partial(_begins, text, secret, start))
    for end in (start + PIECE for start in _places(text, secret[-PIECE:])):
        yield end - _longest(secret, partial(_ends, text, secret, end)), end


def _begins(text: str, secret: str, start: int, length: int) -> bool:
    return text.startswith(secret[:length], start)


def _ends(text: str, secret: str, end: int, length: int) -> bool:
    return text.endswith(secret[-length:], 0, end)


def _longest(secret: str, fits: Callable[[int], bool]) -> int:
    """The greatest length, of `PIECE` at least, that fits as all smaller ones do."""
    lengths = range(PIECE + 1, len(secret) + 1)
    return PIECE + bisect_left(lengths, True, key=lambda length: not fits(length))


def _places(text: str, piece: str) -> Iterator[int]:
    start = text.find(piece)
    while start >= 0:
        yield start
        start = text.find(piece, start + 1)


def _is_word(text: str, start: int, end: int) -> bool:
    """So few characters are the secret only where they stand alone."""
    return not (text[:start][-1:].isalnum() or text[end : end + 1].isalnum())


def is_card(digits: str) -> bool:
    """Whether 13 to 19 digits are a payment card's number: an issuer's prefix and Luhn's sum."""
    if not _CARD.fullmatch(digits):
        return False
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


def _web_tokens(text: str) -> Iterator[Span]:
    """JSON web tokens, whatever letters stand right before them."""
    if "eyJ" not in text:
        return
    for dotted in _DOTTED.finditer(text):
        start = dotted[0].find("eyJ")
        if start >= 0:
            yield dotted.start() + start, dotted.end()


def _scheme_credentials(text: str) -> Iterator[Span]:
    for match in _SCHEMES.finditer(text):
        yield match.span(match.lastindex or 0)
    for match in _BASIC.finditer(text):
        # "Basic knowledge" is no credential: what follows must decode to user:password.
        if _is_user_and_password(match[1]):
            yield match.span(1)
    yield from (match.span(1) for match in _HEADERS.finditer(text))


def _named_values(text: str, keys: SecretKeys) -> Iterator[Span]:
    """What stands behind `name=` or `"name":`, to the end of the value where it is quoted."""
    for name in _NAMES.finditer(text):
        if not keys.match(name[1]) or (name[0][-1:].isspace() and _PROSE.match(text, name.end())):
            continue
        if value := _VALUE.match(text, name.end()):
            yield value.span()


def _is_user_and_password(encoded: str) -> bool:
    whole = encoded[: len(encoded) - len(encoded) % 4]
    try:
        decoded = base64.b64decode(whole, altchars=b"-_").decode("latin-1")
    except (binascii.Error, ValueError):
        return False
    return ":" in decoded and decoded.isprintable()


def _cards(text: str) -> Iterator[Span]:
    if not _MAYBE_CARD.search(text):
        return
    for run in _DIGITS.finditer(text):
        groups = [match.span() for match in _GROUP.finditer(text, *run.span())]
        for first, (start, _) in enumerate(groups):
            digits = ""
            for group_start, end in groups[first : first + _MOST_GROUPS]:
                digits += text[group_start:end]
                if len(digits) > 19:
                    break
                if is_card(digits):
                    yield start, end
