"""Which names announce a secret: whole words of a key, however they are joined or cased.

`API_KEY`, `apiKey` and `x-api-key` hold the words of `api_key`; `monkey` holds no `key`.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

SECRET_KEYS: Final = (
    "access_key",
    "api_key",
    "auth",
    "authentication",
    "authorization",
    "bearer",
    "card_number",
    "client_secret",
    "connection_string",
    "cookie",
    "credential",
    "csrf",
    "cvc",
    "cvv",
    "encryption_key",
    "id_token",
    "jwt",
    "new_password",
    "otp",
    "pass",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "pin_code",
    "private_key",
    "pwd",
    "refresh_token",
    "secret",
    "secret_key",
    "session_key",
    "signing_key",
    "token",
)
"""Always looked for; `MCP_APP["REDACT_KEYS"]` adds to them."""

_LONGEST_NAME: Final = 1024
_MOST_WORDS: Final = 5
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_SEPARATED: Final = re.compile(r"[^\W_]+")


def _singular(word: str) -> str:
    word = word.casefold()
    return word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word


def _phrases(words: list[str]) -> Iterable[str]:
    """Every run of neighbouring words, joined: `my_api_key` has `apikey` among them."""
    words = [_singular(word) for word in words]
    for start in range(len(words)):
        joined = ""
        for word in words[start : start + _MOST_WORDS]:
            joined += word
            yield joined


class SecretKeys:
    """A set of names of secrets, asked whether a key is one of them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._phrases = frozenset("".join(map(_singular, _WORD.findall(name))) for name in names)
        self._seen = lru_cache(maxsize=2048)(self._contains)

    def match(self, name: str) -> bool:
        """Whether `name` announces a secret. A name too long to judge does."""
        if len(name) > _LONGEST_NAME:
            return True
        return self._seen(name) if len(name) <= 64 else self._contains(name)

    def _contains(self, name: str) -> bool:
        name = name if name.isascii() else unicodedata.normalize("NFKC", name)
        # Split at case too and at separators only: `TOKENs` is one word, `accessToken` two.
        splits = (_WORD.findall(name), _SEPARATED.findall(name))
        return any(phrase in self._phrases for words in splits for phrase in _phrases(words))


@lru_cache(maxsize=16)
def secret_keys(extra: tuple[str, ...] = ()) -> SecretKeys:
    """The built-in names and `extra` ones, made once for each set."""
    return SecretKeys((*SECRET_KEYS, *extra))
