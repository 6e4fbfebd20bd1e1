"""What the text of a statement says that it does: only what is known to read is said to read.

A caller may have written the text, where a tool passes it on. So it is taken apart as the database
takes it apart, and what is not understood for certain (a quote that does not end, a comment in a
comment, a placeholder in quotes) does not read. What a function does that a SELECT calls, the text
does not say: that is the database's own to refuse.
"""

import re
from functools import lru_cache
from typing import Final

WRITE: Final = "write"
MORE: Final = "do more than read"

_READING: Final = frozenset(
    [
        *["select", "with", "values", "table", "explain", "show", "describe", "desc", "pragma"],
        *["declare", "fetch", "move", "close"],
    ]
)
_FRAMING: Final = re.compile(r"savepoint |release |rollback (?:transaction )?to ")
"""What frames a part of a transaction that is there."""
_SETTING: Final = re.compile(
    r"set transaction isolation level (?:serializable|repeatable read|read (?:un)?committed)"
    r"(?: ?,? read only)? ?;?"
)
"""What ends with the transaction."""
_WRITING: Final = frozenset(
    ["insert", "update", "delete", "replace", "merge", "truncate", "create", "alter", "drop"]
)
_MAY_HOLD_MORE: Final = frozenset({"with", "explain", "declare"})
_WRITES: Final = re.compile(
    r"\b(?:insert|delete|merge|replace into|truncate|create|execute|call"
    r"|(?<!for )(?<!key )update)\b"
)
_INTO: Final = re.compile(r"\binto\b")
_SEVERAL: Final = re.compile(r";\s*[^\s;]")
_LEAVES: Final = re.compile(
    r"\b(?:set_config|pg_(?:try_)?advisory_lock(?:_shared)?|get_lock|lowrite"
    r"|lo_(?:creat|create|from_bytea|import|put|open|truncate|truncate64|unlink|export))\b"
)
"""Functions that leave something behind in the session, or that write in spite of PostgreSQL's
read-only transactions: large objects, before its version 16."""

_COMMENT: Final = r"/\*(?!M?!)(?:(?!/\*|\*/).)*\*/"  # MySQL runs what stands in /*! */
_LINE: Final = r"--[^\r\n]*"
_STRING: Final = r"'(?:[^']|'')*'"
_NAME: Final = r'"(?:[^"]|"")*"'
_WORD: Final = r"[A-Za-z0-9_$\x80-\U0010ffff]"
_POSTGRESQL: Final = (
    rf"(?<!{_WORD})[eE]'(?:[^'\\]|\\.|'')*'",
    # A backslash right before a quote: whether it ends the string hangs on what stands before.
    r"'(?:[^'\\]|\\(?!')|'')*'",
    _NAME,
    rf"(?<!{_WORD})\$(?P<tag>(?:(?!\d|\$){_WORD})*)\$.*?(?:\$(?P=tag)\$|\Z)",
    _LINE,
    _COMMENT,
)
_MYSQL: Final = (
    *(r"'(?:[^'\\]|\\.)*'", r'"(?:[^"\\]|\\.)*"', r"`[^`]*`"),
    *(r"--(?=\s|$)[^\n]*", r"#[^\n]*", _COMMENT),
)
_PLAIN: Final = (_STRING, _NAME, r"`[^`]*`", r"\[[^\]]*(?:\]|\Z)", _LINE + r"(?:\n|$)", _COMMENT)
_PIECES: Final = {
    vendor: re.compile("|".join(pieces), re.S)
    for vendor, pieces in (
        ("postgresql", _POSTGRESQL),
        ("mysql", _MYSQL),
        *((vendor, _PLAIN) for vendor in ("sqlite", "oracle", "microsoft")),
    )
}
_LEFT_OVER: Final = re.compile(r"['\"`]|/\*|--|\$\w*\$")
_FIRST: Final = re.compile(r"[ (]*([a-z]+)\b")

_KEPT_LENGTH: Final = 4096
"""Of a text whose verdict is kept; the texts of callers are not to fill the memory."""


def beyond_reading(text: str, vendor: str, is_filled: bool, is_framed: bool) -> str | None:
    """What the statement does but read, in words; None if it only reads.

    Args:
        text: it, with its placeholders.
        vendor: Django's name of the database.
        is_filled: whether there are values for the placeholders.
        is_framed: whether the connection is in a transaction of Django's.
    """
    judge = _kept if len(text) <= _KEPT_LENGTH else _judged
    return judge(text, vendor, is_filled, is_framed)


def _judged(text: str, vendor: str, is_filled: bool, is_framed: bool) -> str | None:
    pieces = _PIECES.get(vendor, _PIECES["postgresql"])
    if is_filled and any(_takes_a_value(piece[0]) for piece in pieces.finditer(text)):
        return MORE
    bare = " ".join(pieces.sub(_stand_in, text).split()).lower()
    if _LEFT_OVER.search(bare) or _SEVERAL.search(bare) or _LEAVES.search(text.lower()):
        return MORE
    return _by_words(bare, is_framed)


_kept: Final = lru_cache(maxsize=512)(_judged)


def _takes_a_value(piece: str) -> bool:
    """Whether a placeholder stands in quotes: a driver's own quotes would end them."""
    return "%" in piece.replace("%%", "")


def _stand_in(piece: re.Match[str]) -> str:
    return " " if piece[0].startswith(("--", "/*", "#")) else " 0 "


def _by_words(bare: str, is_framed: bool) -> str | None:
    first = _FIRST.match(bare)
    word = first[1] if first else ""
    if word in _WRITING:
        return WRITE
    if word not in _READING:
        allowed = (is_framed and _FRAMING.match(bare)) or _SETTING.fullmatch(bare)
        return None if allowed else MORE
    writes = _INTO.search(bare) or (word in _MAY_HOLD_MORE and _WRITES.search(bare))
    return WRITE if writes else None
