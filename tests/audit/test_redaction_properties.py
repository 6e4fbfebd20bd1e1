"""A planted secret is never found again, whatever stands around it; what is kept is always JSON."""

import json
import string
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from mcp_app.audit.keys import SECRET_KEYS
from mcp_app.audit.patterns import is_card
from mcp_app.audit.redaction import LIMIT, redact

BASE62 = string.ascii_letters + string.digits
URL_SAFE = BASE62 + "-_"

any_text = st.text(st.characters(), max_size=40)
"""Including NUL and lone surrogates."""

words = st.text("abc xyz", max_size=8)
numbers = st.integers() | st.floats() | st.integers(2**62, 2**80)
scalars = st.none() | st.booleans() | numbers | any_text
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=20,
)


def some(alphabet: str, least: int, most: int) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=least, max_size=most)


@st.composite
def cards(draw: st.DrawFn) -> str:
    body = draw(st.sampled_from("3456")) + draw(some(string.digits, 14, 14))
    number = next(body + digit for digit in string.digits if is_card(body + digit))
    separator = draw(st.sampled_from(["", " ", "-"]))
    return separator.join(number[start : start + 4] for start in range(0, 16, 4))


web_tokens = st.builds(
    "eyJ{}.eyJ{}.{}".format, some(URL_SAFE, 10, 60), some(URL_SAFE, 10, 60), some(URL_SAFE, 20, 60)
)
own_tokens = st.builds("mcp_{}_{}".format, some(BASE62, 12, 12), some(BASE62, 39, 39))
bearers = some(BASE62 + "._~+/-", 12, 60)


@st.composite
def planted(draw: st.DrawFn) -> tuple[str, str]:
    """A secret, and a text that holds it."""
    secret = draw(web_tokens | own_tokens)
    text = secret
    if draw(st.booleans()):
        secret = draw(bearers)
        text = draw(st.sampled_from(["Bearer {} ", "bEARER  {}\n", " password={} "])).format(secret)
    before, after = draw(any_text), draw(any_text)
    assume(not leaks(secret, before + text.replace(secret, "") + after))
    return secret, before + text + after


def put_at(value: Any, path: list[int | str | None]) -> Any:
    """`value` below containers: a list for a number, a dict under a name, a dict as its name."""
    for step in reversed(path):
        if step is None and isinstance(value, str):
            value = {value: 1}
        elif isinstance(step, int):
            value = [*range(step), value]
        else:
            value = {step or "x": value, "other": [1]}
    return value


paths = st.lists(st.integers(0, 3) | words | st.none(), max_size=12)


def leaks(secret: str, stored: Any) -> bool:
    """Whether any 10 characters of the secret stand in what is stored."""
    text = json.dumps(stored, ensure_ascii=False)
    return any(secret[start : start + 10] in text for start in range(len(secret) - 9))


@given(planted(), paths)
def test_a_secret_inside_any_text_is_never_stored(pair: tuple[str, str], path: list[Any]) -> None:
    secret, text = pair

    assert not leaks(secret, redact(put_at(text, path)))


@given(cards(), words, words, paths)
def test_a_card_number_is_never_stored(card: str, before: str, after: str, path: list[Any]) -> None:
    assert not leaks(card, redact(put_at(f"{before}{card}{after}", path)))


@given(planted(), st.integers(3900, 4200))
def test_a_secret_where_a_text_is_cut_is_never_stored(pair: tuple[str, str], start: int) -> None:
    secret, text = pair

    assert not leaks(
        secret, redact({"a": "Bearer abc, " * 20 + "-" * (start - 240) + text + "." * 300})
    )


@given(
    st.sampled_from(SECRET_KEYS),
    st.sampled_from([str.upper, str.title, str.swapcase]),
    st.sampled_from(["_", "-", " ", "."]),
    some(BASE62, 10, 40),
    paths,
)
def test_a_value_under_a_secret_name_is_never_stored(
    key: str, case: Any, separator: str, secret: str, path: list[Any]
) -> None:
    name = separator.join(["my", *map(case, key.split("_"))])

    assert not leaks(secret, redact(put_at({name: [{"value": secret}]}, path)))


@given(values)
def test_what_is_stored_is_json_that_every_database_takes(value: Any) -> None:
    text = json.dumps(redact(value), allow_nan=False)

    assert len(text) <= LIMIT
    kept = json.loads(text)
    assert "\0" not in json.dumps(kept, ensure_ascii=False)
    json.dumps(kept, ensure_ascii=False).encode()


@given(st.integers(2000, 6000), values)
def test_what_is_stored_never_outgrows_its_limit(limit: int, value: Any) -> None:
    assert len(json.dumps(redact([value] * 50, limit=limit))) <= limit


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    return [shape(item) for item in value] if isinstance(value, list) else None


plain = st.recursive(
    st.integers(0, 99) | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=20,
)


@given(plain)
def test_what_holds_no_secret_is_stored_as_it_is(value: Any) -> None:
    assert redact(value) == value


@given(values.filter(lambda value: isinstance(value, dict | list)))
def test_lists_and_dicts_keep_their_shape(value: Any) -> None:
    assert shape(redact(value)) == shape(value) or "[redacted]" in str(redact(value))
