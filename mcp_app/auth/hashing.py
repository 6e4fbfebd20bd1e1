"""The one home of secrets: their text is made, read and compared here. It stores and logs nothing.

A secret reads `mcp_<lookup>_<random><checksum>`: 12 characters that name the row, 33 random ones
(196 bits), and a CRC-32 that lets a mistyped one be refused, and a leaked one be found by a
scanner, without a database. Such an amount of chance needs no slow hash.
"""

import hashlib
import re
import secrets
import zlib
from dataclasses import dataclass
from typing import Final, NoReturn

from mcp_app.token_form import ALPHABET, LOOKUP_LENGTH, PREFIX, base64, encoded, plain

RANDOM_LENGTH: Final = 33
CHECKSUM_LENGTH: Final = 6

SECRET: Final = re.compile(
    rf"{PREFIX}([0-9A-Za-z]{{{LOOKUP_LENGTH}}})_[0-9A-Za-z]{{{RANDOM_LENGTH + CHECKSUM_LENGTH}}}"
)
_TOLD: Final = re.compile(plain(8))
"""A secret, or so much of one that it gives something away."""
_ENCODED: Final = re.compile(encoded(8))
"""The same, whatever is encoded of it."""
_BASE64: Final = re.compile(base64(8))


class Secret:
    """A secret's text, which only `reveal()` gives out: not `str`, `repr`, a format or a pickle."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text, for the one answer that shows it."""
        return self._text

    def __repr__(self) -> str:
        return "<Secret>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A secret is not stored.")


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A secret just made, with the two parts that are stored."""

    secret: Secret
    lookup: str
    digest: str


def generate(lookup: str | None = None) -> NewSecret:
    """Make a secret that nothing else can know; its prefix may have been chosen before."""
    lookup = lookup or new_lookup()
    body = f"{PREFIX}{lookup}_{_random(RANDOM_LENGTH)}"
    text = body + _checksum(body)
    return NewSecret(Secret(text), lookup, _digest(text))


def new_lookup() -> str:
    """A prefix for a secret that is yet to be made."""
    return _random(LOOKUP_LENGTH)


def parse(text: str) -> tuple[str, str] | None:
    """The lookup and digest of a secret's text, or None where its form or checksum is wrong."""
    match = SECRET.fullmatch(text)
    if match is None or _checksum(text[:-CHECKSUM_LENGTH]) != text[-CHECKSUM_LENGTH:]:
        return None
    return match[1], _digest(text)


def public(text: str) -> str:
    """The text with each secret in it, or much of one, cut to its public prefix."""
    return _TOLD.sub(r"\1", text)


def hidden(text: str) -> str:
    """The text with each secret in it, or much of one, shown to be hidden behind its prefix."""
    return _BASE64.sub("[hidden]", _ENCODED.sub(r"\1[hidden]", text))


def matches(stored: str, presented: str) -> bool:
    """Whether two digests are equal, in a time that does not tell where they differ."""
    return secrets.compare_digest(stored.encode(), presented.encode())


def _random(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _checksum(body: str) -> str:
    number, characters = zlib.crc32(body.encode()), ""
    for _ in range(CHECKSUM_LENGTH):
        number, index = divmod(number, len(ALPHABET))
        characters = ALPHABET[index] + characters
    return characters
