"""URI templates (RFC 6570) read backwards: which one a URI was made from, with which values.

The RFC defines expansion only. What can be told apart without guessing is taken: `{var}` within a
path segment, one `{+var}` that takes all that is left, `{#var}`, and `{?a,b}` at the end. Time is
linear in the URI. Knows nothing of resources.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

LONGEST: Final = 8192
"""Characters of a URI that is looked at."""

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_EXPRESSION: Final = re.compile(r"\{([+#?]?)([A-Za-z_]\w*(?:,[A-Za-z_]\w*)*)\}", re.ASCII)
_LITERAL: Final = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SEGMENT: Final = "[^/?#]+"
_ENDS: Final = frozenset("/?#")


class TemplateInvalid(ValueError):
    """A text that is no URI, or a template that could not be matched without guessing."""


@dataclass(frozen=True, slots=True)
class _Expression:
    operator: str
    names: tuple[str, ...]


_Part = str | _Expression


class UriTemplate:
    """One template, ready to match."""

    def __init__(self, text: str) -> None:
        """Raises TemplateInvalid."""
        self.text = text
        parts = tuple(_parts(text))
        expressions = [part for part in parts if isinstance(part, _Expression)]
        self.names = tuple(name for e in expressions for name in e.names)
        """The variables, in their order."""
        _check(text, parts, self.names)
        self._query = frozenset(n for e in expressions if e.operator == "?" for n in e.names)
        path = [part for part in parts if not _is(part, "?")]
        self._pattern = re.compile(_pattern(path, parts[-1]), re.DOTALL)
        self.shape = "".join(p if isinstance(p, str) else f"{{{p.operator}}}" for p in path)
        """The template without its variables' names: two of one shape match the same URIs."""
        literals = [part for part in path if isinstance(part, str)]
        self.rank = (
            any(_is(part, "+") for part in parts),
            -sum(map(len, literals)),
            -len(literals[0]),
            text,
        )
        """Sorts the more specific of two templates first, the same in every process."""

    def __repr__(self) -> str:
        return f"UriTemplate({self.text!r})"

    def match(self, uri: str) -> dict[str, str] | None:
        """The values that `uri` was made with, percent-decoded once; None where it was not.

        A variable of `{?…}` may be absent. A value that would climb out of its place reads as no
        match: one with a `..` segment, or with a NUL.
        """
        if len(uri) > LONGEST or _BAD_ESCAPE.search(uri):
            return None
        path, _, query = uri.partition("?") if self._query else (uri, "", "")
        found = self._pattern.fullmatch(path)
        if found is None:
            return None
        try:
            values = {
                name: unquote(value, errors="strict")
                for name, value in found.groupdict().items()
                if value is not None
            }
            values |= self._queried(query)
        except UnicodeDecodeError:
            return None
        return None if any(map(_climbs, values.values())) else values

    def _queried(self, query: str) -> dict[str, str]:
        """The variables of the query; what is not one of them is ignored, as on the web."""
        values: dict[str, str] = {}
        for pair in query.split("&") if query else ():
            name, _, value = pair.partition("=")
            if name in self._query:
                values.setdefault(name, unquote(value, errors="strict"))
        return values


def is_template(text: str) -> bool:
    """Whether `text` has variables."""
    return "{" in text or "}" in text


def check_uri(text: str) -> None:
    """Raise TemplateInvalid unless `text` is an absolute URI (RFC 3986)."""
    if not _SCHEME.match(text) or not _LITERAL.fullmatch(text):
        raise TemplateInvalid(f"{text!r} is not an absolute URI")


def _parts(text: str) -> Iterator[_Part]:
    """Literals and expressions, each literal up to the next expression."""
    end = 0
    for found in _EXPRESSION.finditer(text):
        if found.start() > end:
            yield text[end : found.start()]
        yield _Expression(found[1], tuple(found[2].split(",")))
        end = found.end()
    if end < len(text):
        yield text[end:]


def _check(text: str, parts: tuple[_Part, ...], names: tuple[str, ...]) -> None:
    if not parts or not isinstance(parts[0], str) or not _SCHEME.match(parts[0]):
        raise TemplateInvalid(f"{text!r} does not begin with a scheme")
    for part, following in zip(parts, (*parts[1:], ""), strict=True):
        if isinstance(part, _Expression):
            _check_expression(text, part, following)
        elif not _LITERAL.fullmatch(part):
            raise TemplateInvalid(f"{text!r} holds {part!r}, which no URI can hold")
    if len(set(names)) < len(names):
        raise TemplateInvalid(f"{text!r} names a variable twice")
    _check_order(text, parts)
    if _is(parts[-1], "?") and any(isinstance(p, str) and set("?#") & set(p) for p in parts):
        raise TemplateInvalid(f"{text!r} begins its query twice")


def _check_expression(text: str, part: _Expression, following: _Part) -> None:
    if part.operator != "?" and len(part.names) > 1:
        raise TemplateInvalid(f"{text!r} has several variables in one expression")
    if part.operator in ("", "+") and (_is(following, "") or _is(following, "+")):
        raise TemplateInvalid(f"{text!r} has two variables with nothing in between")


def _check_order(text: str, parts: tuple[_Part, ...]) -> None:
    """`{+var}` and `{#var}` leave nothing to other variables, and `{?…}` nothing to anything."""
    kinds = "".join(p.operator or "v" if isinstance(p, _Expression) else "_" for p in parts)
    if not re.fullmatch(r"[v_]*(\+_?)?#?\??", kinds) or "#?" in kinds:
        raise TemplateInvalid(f"{text!r} cannot be matched: put {{+…}}, {{#…}} or {{?…}} last")


def _is(part: _Part, operator: str) -> bool:
    return isinstance(part, _Expression) and part.operator == operator


def _pattern(parts: list[_Part], last: _Part) -> str:
    goes_on = _is(last, "?") or _is(last, "#")
    written = []
    for place, part in enumerate(parts):
        if isinstance(part, str):
            written.append(re.escape(part))
        elif part.operator == "":
            written.append(_variable(part.names[0], parts[place + 1 :]))
        else:
            written.append(_rest(part, goes_on))
    return "".join(written)


def _variable(name: str, following: list[_Part]) -> str:
    """A value ends where the literal after it begins for the first time.

    The group is atomic where another variable follows in the same segment: with two of them a
    plain one would try every split.
    """
    literal = following[0] if following and isinstance(following[0], str) else ""
    closes = len(following) < 2 or bool(_ENDS & set(literal))
    if closes:
        return f"(?P<{name}>{_SEGMENT})"
    return f"(?>(?P<{name}>{_SEGMENT}?)(?={re.escape(literal)}))"


def _rest(part: _Expression, goes_on: bool) -> str:
    name = part.names[0]
    if part.operator == "#":
        return f"(?:#(?P<{name}>.*))?"
    # RFC 6570 leaves `?` and `#` as they are here; a template that goes on with one needs them.
    return f"(?P<{name}>[^?#]+)" if goes_on else f"(?P<{name}>.+)"


def _climbs(value: str) -> bool:
    return "\0" in value or ".." in re.split(r"[/\\]", value)
