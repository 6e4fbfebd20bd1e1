"""Arguments as they are stored: no secret, nothing a database refuses, no more than fits."""

import hashlib
import hmac
import html
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus, unquote

import orjson
import pytest

from mcp_app.audit.keys import secret_keys
from mcp_app.audit.patterns import is_card
from mcp_app.audit.redaction import LIMIT, digest, hidden_texts, redact, stored_arguments
from mcp_app.audit.text import printable, redact_text
from mcp_app.catalog.disclosure import Disclosure
from tests.secret_forms import forms, in_base64, out_of_base64

TOKEN = "mcp_Ab3dEf6hIj9l_" + "Zz9" * 13
SECRET = "mcp_Ab3dEf6hIj9l_0Ug7bqL2xNQ8kRt5WvYz1HsJd4FcMpAe6Xi9oTn"
PIECES = [SECRET[start : start + 8] for start in range(17, len(SECRET) - 8)]
WRITTEN = forms(SECRET) | in_base64(SECRET)


def test_secrets_are_replaced_at_any_depth_and_the_structure_stays() -> None:
    arguments = {
        "password": "x",
        "nested": [{"API_KEY": "y", "items": [1, None, True, 2.5]}],
        "note": "Bearer abc.def",
        "card": "4111 1111 1111 1111",
        "credentials": {"user": "ana", "pass": "z"},
        "monkey": "ok",
    }

    assert redact(arguments) == {
        "password": "[redacted]",
        "nested": [{"API_KEY": "[redacted]", "items": [1, None, True, 2.5]}],
        "note": "Bearer [redacted]",
        "card": "[redacted]",
        "credentials": "[redacted]",
        "monkey": "ok",
    }


def test_a_marked_parameter_is_replaced_at_the_top_alone() -> None:
    arguments = {"reason": {"why": "late"}, "other": {"reason": "kept"}}

    assert redact(arguments, disclosure=Disclosure(frozenset({"other"}))) == {
        "reason": "[redacted]",
        "other": {"reason": "kept"},
    }


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"with {TOKEN}.", "with [redacted]."),
        (f"https://host/mcp?x={TOKEN}&y=1", "https://host/mcp?x=[redacted]&y=1"),
        ("AUTHORIZATION: Digest a, b\nnext", "AUTHORIZATION: [redacted]\nnext"),
        ("Cookie: sessionid=1; csrftoken=2", "Cookie: [redacted]"),
        ("Basic dXNlcjpwYXNz!", "Basic [redacted]!"),
        ("bearer Bearer abc", "bearer [redacted] [redacted]"),
        ("Token " + "0f" * 20, "Token [redacted]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln end", "[redacted] end"),
        ("seen:eyJhbGciOiJIUzI1NiJ9.e30.", "seen:[redacted]"),
        ("postgres://ana:hunter2@db/shop", "postgres://ana:[redacted]@db/shop"),
        ("api_key=abc, secret: 'two words'.", "api_key=[redacted], secret: [redacted]."),
        ('{"access_token": "a b", "n": 1}', '{"access_token": [redacted], "n": 1}'),
        (r"{\"password\": \"x y\", \"n\": 1}", r"{\"password\": [redacted], \"n\": 1}"),
        ("run --password=abc --password def", "run --password=[redacted] --password def"),
        ("config={password=hunter2}", "config={password=[redacted]}"),
        ("Key (api_key)=(abc def) exists", "Key (api_key)=[redacted]) exists"),
        ("2024-01-01 4111-1111-1111-1111", "2024-01-01 [redacted]"),
        ("amex 378282246310005", "amex [redacted]"),
        ("AKIAABCDEFGHIJKLMNOP", "[redacted]"),
    ],
)
def test_secrets_inside_a_text_are_replaced(text: str, kept: str) -> None:
    assert redact({"note": text}) == {"note": kept}


@pytest.mark.parametrize(
    "text",
    [
        "Basic knowledge of basic things",
        "mcp_notification_settings",
        "mcp%5Fnotification%5Fsettings and 100% of \\u006dcp",
        "bWNwX25vdGlmaWNhdGlvbl9zZXR0aW5ncw==",
        "task-management-of-a-long-name",
        "4111 1111 1111 1112",
        "1700000000000",
        "at 2024-01-01T12:30:00+00:00, version 1.2.3",
        "monkey=ok keyboard: qwerty",
        "https://example.com:8000/a?b=c",
        "token: is not a known argument; password: should be a string",
        "api_key: This field is required.",
        "secret: string should have at least 8 characters",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redact({"note": text}) == {"note": text}


@pytest.mark.parametrize("form", WRITTEN.values(), ids=WRITTEN)
def test_a_token_is_replaced_however_it_is_written(form: str) -> None:
    for text in (form, f"see {form}, at last", f"/mcp?t={form}&a=b"):
        kept = redact({text: text})
        assert "[redacted]" in str(kept)
        assert not any(piece in _read(str(kept)) for piece in PIECES)
    assert redact(f"see {form}, at last").startswith("see ")
    assert redact(f"see {form}, at last").endswith(", at last")


@pytest.mark.parametrize("form", WRITTEN.values(), ids=WRITTEN)
def test_no_piece_of_it_stays_where_a_text_is_cut(form: str) -> None:
    for length in range(0, len(form), 5):
        kept = redact_text("a" * 100 + form, secret_keys(), limit=100 + length, marker=False)
        assert not any(piece in _read(kept) for piece in PIECES)


def _read(text: str) -> str:
    """What a reader can make of it."""
    plain = text
    for _ in range(3):
        plain = unquote(plain)
    plain = re.sub(r"\\+(?:u00|x)([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), plain)
    return text + plain + out_of_base64(text)


def test_a_private_key_is_replaced_although_its_end_is_cut_off() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEow\n" * 2000 + "-----END RSA PRIVATE KEY-----"

    assert redact_text(f"a {key} b", secret_keys(), limit=99999) == "a [redacted] b"
    assert redact_text(f"a {key} b", secret_keys(), limit=500).startswith("a [redacted]… [trunc")


@pytest.mark.parametrize("issuer", ["22", "27", "3", "4", "5", "6"])
@pytest.mark.parametrize("gap", ["", " ", "-"])
def test_a_card_number_alone_gives_itself_away(issuer: str, gap: str) -> None:
    digits = next(
        number
        for last in range(10)
        if is_card(number := f"{issuer:0<15}{last}")  # of ten one has the right sum
    )
    written = gap.join(digits[start : start + 4] for start in range(0, 16, 4))
    for text in (written, f"99 {written}", f"n{written}", f"a {written}."):
        assert "[redacted]" in redact_text(text, secret_keys(), limit=100), text


@pytest.mark.parametrize(
    "opening", ["bearer", "BEARER", "bEARER", "Token", "tOKEN", "basic", "BASIC"]
)
def test_a_credential_is_seen_in_any_letter_case(opening: str) -> None:
    secret = {"b": "dXNlcjpwYXNz", "t": "0123456789abcdef" * 2}[opening[0].lower()]
    shown = redact_text(f"{opening} {secret}", secret_keys(), limit=100)
    assert shown == f"{opening} [redacted]"


def test_an_encoded_character_makes_a_text_hardly_dearer() -> None:
    words = "the quick brown fox jumps over the lazy dog near a river bank " * 60

    def seconds(text: str) -> float:
        started = time.perf_counter()
        redact_text(text, secret_keys(), limit=4096)
        return time.perf_counter() - started

    plain, encoded = (
        min(seconds(text) for _ in range(30)) for text in (words, words.replace("x j", "x%20j"))
    )
    assert encoded < 2 * plain


def test_a_card_number_is_replaced_as_a_number_too() -> None:
    assert redact([4111111111111111, 4111111111111112, 4111111111111111.0]) == [
        "[redacted]",
        4111111111111112,
        "[redacted]",
    ]


def test_a_secret_in_a_name_is_replaced_and_no_name_hides_another() -> None:
    arguments = {TOKEN: 1, f"{TOKEN}0": 2, "a\0": 3, "a\ud800": 4}

    assert redact(arguments) == {
        "[redacted]": 1,
        "[redacted] (2)": 2,
        "a\ufffd": 3,
        "a\ufffd (2)": 4,
    }


def test_what_no_json_column_holds_becomes_text() -> None:
    values = ["a\0b\ud800c", float("nan"), float("-inf"), 2**64 - 1, 10**5000, b"\0", object()]

    assert redact(values) == [
        "a\ufffdb\ufffdc",
        "nan",
        "-inf",
        2**64 - 1,
        "[integer of 16610 bits]",
        "[bytes]",
        "[object]",
    ]


def test_a_long_text_is_cut_with_its_length_told() -> None:
    kept = redact({"text": "x" * 10_000_000})["text"]

    assert kept == "x" * 4096 + "… [truncated, 10000000 characters]"


def test_what_is_cut_out_is_counted() -> None:
    many = redact([{"number": number} for number in range(100_000)])
    wide = redact({f"n{number}": "y" * 100 for number in range(10_000)})

    assert many[-1] == f"… [{100_000 - len(many) + 1} more]"
    assert wide["…"] == f"[{10_000 - len(wide) + 1} more]"
    assert len(json.dumps(many)) <= LIMIT
    assert len(json.dumps(wide)) <= LIMIT


def test_what_is_nested_too_deeply_is_left_out() -> None:
    value: Any = "deep"
    for _ in range(5000):
        value = [value]

    assert "[nested too deeply]" in json.dumps(redact(value))


def test_text_outside_ascii_is_cut_by_what_it_takes_as_json() -> None:
    kept = redact({"a": "\N{SNOWMAN}" * 4000, "b": "\N{PILE OF POO}" * 4000})

    assert len(json.dumps(kept)) <= LIMIT
    assert kept["a"].startswith("\N{SNOWMAN}" * 1000)


def test_an_error_text_loses_the_arguments_that_are_hidden() -> None:
    arguments = {"reason": ["hunter2!"], "pin": 1, "login": {"password": 123456}, "city": "Graz"}
    known = hidden_texts(arguments, disclosure=Disclosure(frozenset({"pin", "login", "city"})))

    text = redact_text("no hunter2! with 123456 in Graz", secret_keys(), limit=99, known=known)

    assert text == "no [redacted] with [redacted] in Graz"
    assert hidden_texts({"token": [10**5000, True, float("nan"), b"x" * 9, "long" * 9999]}) == [
        "long" * 1024
    ]


PARTIAL = Disclosure(
    frozenset({"city"}), frozenset({"login"}), Disclosure(frozenset({"user"}), frozenset({"more"}))
)


def test_what_nobody_declared_is_kept_by_name_alone() -> None:
    arguments = {
        "city": {"any": ["thing"]},
        "passwrd": "hunter2",
        "login": {
            "user": "ana",
            "hush": "x",
            "more": [{"user": "ben", "hush": "y"}, "text"],
            "misspelt": {"user": "z"},
        },
    }

    assert redact(arguments, disclosure=PARTIAL) == {
        "city": {"any": ["thing"]},
        "passwrd": "[redacted]",
        "login": {
            "user": "ana",
            "hush": "[redacted]",
            "more": [{"user": "ben", "hush": "[redacted]"}, "[redacted]"],
            "misspelt": "[redacted]",
        },
    }
    assert hidden_texts(arguments, disclosure=PARTIAL) == ["hunter2", "text"]


def test_an_object_with_secret_parts_that_arrives_as_text_is_hidden_whole() -> None:
    assert redact({"login": '{"hush": "x"}'}, disclosure=PARTIAL) == {"login": "[redacted]"}


def test_an_error_text_loses_what_is_hidden_however_it_is_escaped() -> None:
    known = hidden_texts({"password": 'it\'s\na "pass"/é', "cvv": 123, "pin_code": "x"})

    for text in (
        repr('it\'s\na "pass"/é'),
        json.dumps('it\'s\na "pass"/é'),
        "https://h/?q=it%27s%0Aa%20%22pass%22/%C3%A9",
        "code 123!",
    ):
        kept = redact_text(text, secret_keys(), limit=99, known=known)
        assert "pass" not in kept
        assert "123" not in kept
    assert redact_text("12345 x", secret_keys(), limit=99, known=known) == "12345 x"


LONG = "hunter2-Xk9QzPq71LmV-a-long-secret-0123456789-with-an-end"


@pytest.mark.parametrize(
    "quoted",
    [
        f"{LONG[:20]}…{LONG[-20:]}",
        f"{LONG[:8]}",
        f"…{LONG[-6:]}",
        LONG.upper(),
        LONG.title(),
        repr(LONG.encode()),
    ],
)
def test_an_error_text_loses_a_secret_that_is_shortened_or_in_other_letters(quoted: str) -> None:
    known = hidden_texts({"password": LONG})

    kept = redact_text(f"cannot log in with {quoted}", secret_keys(), limit=999, known=known or [])

    assert not any(LONG[at : at + 6].lower() in kept.lower() for at in range(len(LONG) - 5))
    assert kept.startswith("cannot log in with ")


WRITTEN: dict[str, Callable[[str], str]] = {
    "plain": str,
    "bytes": lambda text: repr(text.encode())[2:-1],
    "repr": lambda text: repr(text)[1:-1],
    "ascii": lambda text: ascii(text)[1:-1],
    "escapes": lambda text: text.encode("unicode_escape").decode(),
    "json": lambda text: json.dumps(text)[1:-1],
    "json as utf-8": lambda text: orjson.dumps(text).decode()[1:-1],
    "quote": quote,
    "quote_plus": quote_plus,
    "encodeURIComponent": lambda text: quote(text, safe="!~*'()"),
    "all of a URL": lambda text: quote(text, safe=""),
    "html": html.escape,
    "html between tags": lambda text: html.escape(text, quote=False),
    "markupsafe": lambda text: (
        html.escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    ),
    "html in ascii": lambda text: html.escape(text).encode("ascii", "xmlcharrefreplace").decode(),
}
SECRETS = [
    "gehäim-ß",
    "<a&b'c>\"",
    "a b+c/d",
    "İstanbul-\U0001f600",
    'ah"so, <sö> & \'wäre\' es "gut"',
    "C:\\Straße\\(von)\\m/i r!",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("way", WRITTEN)
def test_an_error_text_loses_a_secret_in_each_way_of_writing_it(secret: str, way: str) -> None:
    known = hidden_texts({"password": secret}) or []

    kept = redact_text(f"not {WRITTEN[way](secret)}", secret_keys(), limit=999, known=known)
    assert kept == "not [redacted]"


def test_short_words_in_common_with_a_secret_stay() -> None:
    known = hidden_texts({"password": "guest-room-7"}) or []

    assert redact_text("no guest in a room", secret_keys(), limit=99, known=known) == (
        "no guest in a room"
    )


def padded() -> Iterator[dict[str, Any]]:
    """Secrets among so much that a look for them could stop before it came to them."""
    many = [[number] * 900 for number in range(20)]
    yield {"password": LONG, "items": many}
    yield {"items": many, "password": LONG}
    yield {"items": [*range(1500), {"password": LONG}]}
    yield {"password": [LONG, *range(900)]}
    yield {"items": {**{f"n{number}": 1 for number in range(1500)}, "password": LONG}}
    yield {"items": [{"a": 1, "b": 2, "password": "x"}] * 3000, "password": LONG}


@pytest.mark.parametrize("arguments", list(padded()))
def test_nothing_that_stands_beside_a_secret_hides_it_from_the_look(arguments: Any) -> None:
    assert LONG in (hidden_texts(arguments) or [])


@pytest.mark.parametrize(
    "arguments",
    [
        {"password": LONG, "items": [[number] * 900 for number in range(200)]},
        {"password": [f"secret {number}" for number in range(2000)]},
        {"password": [f"{number} {'x' * 4000}" for number in range(200)]},
    ],
)
def test_where_the_look_would_take_too_long_it_says_so(arguments: Any) -> None:
    assert hidden_texts(arguments) is None


def test_a_text_made_of_secrets_is_replaced_whole() -> None:
    known = hidden_texts({"password": ["a" * 4000, *(f"{'a' * 100}{n}" for n in range(900))]})

    assert redact_text("a" * 4000, secret_keys(), limit=4000, known=known or []) == "[redacted]"


def test_each_level_keeps_what_it_says() -> None:
    arguments = {"b": 1, "password": "x", TOKEN: 2}

    assert stored_arguments(arguments, "none") is None
    assert stored_arguments(arguments, "names") == ["b", "password", "[redacted]"]
    assert stored_arguments(arguments, "redacted") == redact(arguments)
    assert stored_arguments(arguments, "digest") == {"hmac_sha256": digest(arguments, b"")}
    assert stored_arguments(None, "digest") is None


def test_a_digest_depends_on_values_and_the_key_and_not_on_order() -> None:
    assert digest({"a": 1, "b": "\ud800"}, b"k") == digest({"b": "\ud800", "a": 1}, b"k")
    assert digest({"a": 1}, b"k") != digest({"a": 2}, b"k")
    assert digest({"a": 1}, b"k") != digest({"a": 1}, b"l")
    known = hmac.new(b"k", b'{"a":1}', hashlib.sha256).hexdigest()
    assert digest({"a": 1}, b"k") == known


def test_a_printable_text_is_one_line_that_hides_nothing() -> None:
    assert printable("Claude\r\n\x1b[31m\u202eCode\0 \ud800x") == "Claude [31m Code x"
