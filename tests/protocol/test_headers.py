"""The codec of mirrored header values, and when a header agrees with an argument."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_app.protocol.headers import BadHeaderValue, agrees, decode_value, encode_value

EXAMPLES = {
    "us-west1": "us-west1",
    "Hello, 世界": "=?base64?SGVsbG8sIOS4lueVjA==?=",
    " padded ": "=?base64?IHBhZGRlZCA=?=",
    "line1\nline2": "=?base64?bGluZTEKbGluZTI=?=",
    "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
}


@pytest.mark.parametrize("value", EXAMPLES)
def test_the_specifications_examples_hold(value: str) -> None:
    assert encode_value(value) == EXAMPLES[value]
    assert decode_value(EXAMPLES[value]) == value


@given(st.text())
def test_every_text_survives(value: str) -> None:
    header = encode_value(value)
    assert decode_value(header) == value
    assert all(character == "\t" or " " <= character <= "~" for character in header)
    assert header == header.strip()


@given(st.text(st.characters(max_codepoint=255)))
def test_any_header_is_read_or_refused(header: str) -> None:
    try:
        value = decode_value(header)
    except BadHeaderValue:
        return
    assert decode_value(encode_value(value)) == value


@given(st.binary())
def test_only_base64_of_utf_8_is_read(raw: bytes) -> None:
    header = f"=?base64?{base64.b64encode(raw).decode()}?="
    try:
        expected = raw.decode()
    except UnicodeDecodeError:
        with pytest.raises(BadHeaderValue):
            decode_value(header)
    else:
        assert decode_value(header) == expected


@pytest.mark.parametrize(
    "header",
    [
        "é",
        "日報",
        "a\x00b",
        "a\x7fb",
        "a\nb",
        "=?base64?!?=",
        "=?base64?YQ?=",
        "=?base64?YQ=?=",
        "=?base64?YR==?=",
        "=?base64?YQ==YQ==?=",
        "=?base64?Y Q==?=",
        "=?base64?_w==?=",
        "=?base64?/w==?=",
    ],
)
def test_what_no_client_may_send_is_refused(header: str) -> None:
    with pytest.raises(BadHeaderValue):
        decode_value(header)


@pytest.mark.parametrize("header", ["=?BASE64?YQ==?=", "=?base64?YQ==", "YQ==?=", "=?utf-8?q?a?="])
def test_markers_that_are_not_exact_are_plain_text(header: str) -> None:
    assert decode_value(header) == header


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("a", "a"),
        ("", ""),
        ("42", "42"),
        (True, "true"),
        (False, "false"),
        (42, "42"),
        (42, "42.0"),
        (42, "42.000"),
        (42, "042"),
        (-7, "-7"),
        (0, "-0"),
        (42.0, "42"),
        (1.5, "1.5"),
        (9007199254740993, "9007199254740993"),
        (10**30, f"{10**30}.0"),
    ],
)
def test_a_header_agrees_with_the_same_value(value: Any, header: str) -> None:
    assert agrees(value, header)


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("a", "A"),
        ("42", "42.0"),
        ("true", "True"),
        (True, "True"),
        (True, "1"),
        (1, "true"),
        (False, "0"),
        (42, "43"),
        (42, "42.1"),
        (42, "+42"),
        (42, "4_2"),
        (42, "0x2a"),
        (42, "4e1"),
        (42, "٤٢"),
        (42, ""),
        (42, "42."),
        (42, ".42"),
        (42, "9" * 5000),
        (9007199254740993, "9007199254740992"),
        (1.5, "1.50001"),
        (None, ""),
        (None, "null"),
        ([1], "[1]"),
        ({}, "{}"),
    ],
)
def test_a_header_disagrees_with_any_other(value: Any, header: str) -> None:
    assert not agrees(value, header)
