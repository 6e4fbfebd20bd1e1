"""Text that is safe to store: secrets replaced, length bounded, nothing a database refuses."""

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Final

from mcp_app.audit.keys import SecretKeys
from mcp_app.audit.patterns import REDACTED, Span, find_known, find_secrets

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"

MARGIN: Final = 1024
"""What is kept never ends inside a secret: the search goes on that far behind its end.

So far reaches what shows a token of ours, each of its characters encoded several times.
"""

_MOST_KNOWN: Final = 1000
"""Places: a text that quotes secrets more often is not worth the time, nor what would be left."""

# PostgreSQL refuses NUL in text and in jsonb; a lone surrogate has no UTF-8.
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
# Control characters, and those that reorder or hide what stands around them.
_INVISIBLE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def clean(text: str) -> str:
    """`text`, each NUL and lone surrogate replaced by U+FFFD; as long as it was."""
    return _UNSTORABLE.sub(REPLACEMENT, text)


def printable(text: str) -> str:
    """One line of `text` without control, invisible and direction-changing characters."""
    return " ".join(_INVISIBLE.sub(" ", text).split())


def truncation(length: int) -> str:
    """What stands behind a text that was cut and had `length` characters."""
    return f"… [truncated, {length} characters]"


def redact_text(
    text: str, keys: SecretKeys, *, limit: int, known: Collection[str] = (), marker: bool = True
) -> str:
    """The first `limit` characters of `text`, each secret in them replaced by `[redacted]`.

    The cost does not grow with what lies behind the limit.

    Args:
        text: as it came.
        keys: names whose values are secret where the text has `name=value`.
        limit: in characters of `text`; the result is longer by the markers.
        known: secrets to replace wherever they stand, whole or by either end, in any letter case.
        marker: say at the end that the text was cut.
    """
    if len(text) <= limit and not known and text.isascii() and text.isprintable():
        secrets = find_secrets(text, keys)
        return "".join(_replace(text, _merge(secrets), limit)) if secrets else text
    margin = MARGIN + max(map(len, known), default=0)
    window = clean(text[: limit + margin])
    quoted = list(islice(find_known(window, known), _MOST_KNOWN + 1))
    if len(quoted) > _MOST_KNOWN:
        return REDACTED
    spans = [*find_secrets(window, keys), *quoted]
    kept = "".join(_replace(window, _merge(spans), limit)) if spans else window[:limit]
    return kept + truncation(len(text)) if marker and len(text) > limit else kept


def _merge(spans: Iterable[Span]) -> Iterator[Span]:
    start, end = -1, -1
    for first, last in sorted(spans):
        if first > end:
            if end >= 0:
                yield start, end
            start, end = first, last
        end = max(end, last)
    yield start, end


def _replace(text: str, spans: Iterable[Span], limit: int) -> Iterator[str]:
    position = 0
    for start, end in spans:
        if start >= limit:
            break
        yield text[position:start]
        yield REDACTED
        position = end
    yield text[position : max(limit, position)]
