"""Texts as a serializer's field takes them: lengths, patterns and formats, told and kept to."""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final

from django.core import validators as rules
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from rest_framework import serializers

UUID: Final = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
DATE: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
TIME: Final = r"^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?$"
MOMENT: Final = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?$"
)
"""Without an offset it is of the current time zone, as DRF has it."""
_DIGITS: Final = 28
"""What Python's decimals compute with."""
_UNPORTABLE: Final = re.compile(r"\(\?(?!:)|\\[bB]|[*+?}]\+")
"""Groups with names, look-around, flags; what other languages write in another way, or not."""

Pattern = tuple[str, str]
"""A regular expression, and a sentence for who does not match it."""


def text(field: Any) -> Any:
    """A text of a `CharField` or one of its kind."""
    lengths: dict[str, Any] = {}
    if longest := limits(field, rules.MaxLengthValidator):
        lengths["max_length"] = min(longest)
    if not field.allow_blank:
        lengths["min_length"] = _least(field)
    found = matching([*_not_blank(field), *_patterns(field)])
    return Annotated[found, Field(**lengths)] if lengths else found


def matching(patterns: Iterable[Pattern]) -> Any:
    """A text that matches each of the patterns, and whose schema says so."""
    found = dict(patterns)
    if not found:
        return str
    first, *others = found
    told: dict[str, Any] = {"pattern": first}
    if others:
        told["allOf"] = [{"pattern": pattern} for pattern in others]
    checks = [_check(*pattern) for pattern in found.items()]
    return Annotated[(str, *checks, Field(json_schema_extra=told))]


def formatted(word: str, pattern: str = "") -> Any:
    """A text whose format has a name in JSON Schema; `pattern` is what the name means."""
    checks = [_check(pattern, f"should be a {word}")] if pattern else []
    return Annotated[(str, *checks, Field(json_schema_extra={"format": word}))]


def named(field: Any) -> Any:
    """A text of a `CharField` whose format has a name."""
    word = "email" if isinstance(field, serializers.EmailField) else "uri"
    return Annotated[text(field), Field(json_schema_extra={"format": word})]


def address(field: Any) -> Any:
    """An IP address; where both kinds are taken, no format says so."""
    if field.protocol not in ("ipv4", "ipv6"):
        return text(field)
    return Annotated[text(field), Field(json_schema_extra={"format": field.protocol})]


def decimal(field: Any) -> Any:
    """A decimal number as a text, which keeps its digits, and whose digits a pattern can count."""
    if field.localize:
        return str
    places = _DIGITS // 2 if field.decimal_places is None else field.decimal_places
    whole = max((_DIGITS if field.max_digits is None else field.max_digits) - places, 0)
    sign = "" if any(bound >= 0 for bound in limits(field, rules.MinValueValidator)) else "-?"
    fraction = rf"\.[0-9]{{1,{places}}}"
    digits = f"[0-9]{{1,{whole}}}"
    if not whole:
        pattern = f"^{sign}0?{fraction}$"
    else:
        pattern = f"^{sign}{digits}({fraction})?$" if places else f"^{sign}{digits}$"
    return matching([(pattern, f"should be a number in a text that matches {pattern}")])


def limits(field: Any, kind: Any) -> list[Any]:
    """The bounds that a field's validators of one kind set."""
    found = [rule.limit_value for rule in field.validators if type(rule) is kind]
    return [bound() if callable(bound) else bound for bound in found]


def _least(field: Any) -> int:
    return max(1, *map(int, limits(field, rules.MinLengthValidator)), 1)


def _not_blank(field: Any) -> Iterator[Pattern]:
    """What is left of a text once it is trimmed is what has to be long enough."""
    if not field.trim_whitespace:
        return
    least = _least(field)
    trimmed = r"\S" if least == 1 else rf"\S[\s\S]{{{least - 2},}}\S"
    long_enough = f"should have at least {least} characters"
    if not field.allow_blank:
        yield trimmed, "may not be blank" if least == 1 else long_enough
    elif least > 1:
        yield rf"^\s*$|{trimmed}", f"{long_enough}, or none"


def _patterns(field: Any) -> Iterator[Pattern]:
    """Of its regular expressions, those that mean the same to every client."""
    for rule in [] if field.allow_blank else field.validators:
        if not isinstance(rule, rules.RegexValidator) or rule.inverse_match:
            continue
        regex = re.compile(rule.regex)
        pattern = regex.pattern.replace(r"\Z", "$").replace(r"\A", "^")
        plain = type(rule).__call__ is rules.RegexValidator.__call__
        if plain and not regex.flags & ~(re.UNICODE | re.ASCII) and not _UNPORTABLE.search(pattern):
            yield pattern, f"should match the pattern {pattern}"


def _check(pattern: str, sentence: str) -> Any:
    # To other languages, `$` is the very end.
    regex = re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern))
    error: Any = sentence  # pydantic's stubs want it written out

    def check(value: str) -> str:
        if not regex.search(value):
            raise PydanticCustomError("pattern", error)
        return value

    return AfterValidator(check)
