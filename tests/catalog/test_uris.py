"""URI templates matched: what a URI was made with, and which templates are refused."""

import time
from typing import Any

import pytest
import uritemplate
from hypothesis import given
from hypothesis import strategies as st

from mcp_app.catalog.uris import LONGEST, TemplateInvalid, UriTemplate, check_uri

LIKE_PATHS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
VALUES = LIKE_PATHS.filter(lambda text: ".." not in text)


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("o://{id}", "o://5", {"id": "5"}),
        ("o://{id}", "o://a%2Fb%20c", {"id": "a/b c"}),
        ("o://{id}", "o://%C3%A9", {"id": "é"}),
        ("o://{id}", "o://é", {"id": "é"}),
        ("o://{id}", "o://a+b", {"id": "a+b"}),
        ("o://{id}/lines/{line}", "o://5/lines/6", {"id": "5", "line": "6"}),
        ("f://{name}.{ext}", "f://a.tar.gz", {"name": "a", "ext": "tar.gz"}),
        ("f://{a}-{b}/end", "f://x-y-z/end", {"a": "x", "b": "y-z"}),
        ("f://v{a}b", "f://vabb", {"a": "ab"}),
        ("f:///{+path}", "f:///a/b?c#d", {"path": "a/b?c#d"}),
        ("f:///{+path}/raw", "f:///a/raw/raw", {"path": "a/raw"}),
        ("f:///{+path}{?v}", "f:///a/b?v=1", {"path": "a/b", "v": "1"}),
        ("f://x{#part}", "f://x#a/b", {"part": "a/b"}),
        ("f://x{#part}", "f://x", {}),
        ("l://all{?a,b}", "l://all", {}),
        ("l://all{?a,b}", "l://all?b=2&c=3&a=%26&a=later", {"a": "&", "b": "2"}),
        ("l://all{?a}", "l://all?a=", {"a": ""}),
        ("l://all{?a}", "l://all?a=x+y=z", {"a": "x+y=z"}),
    ],
)
def test_a_uri_is_taken_apart(template: str, uri: str, values: dict[str, str]) -> None:
    assert UriTemplate(template).match(uri) == values


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("o://{id}", "o://"),
        ("o://{id}", "o://a/b"),
        ("o://{id}", "o://a?b"),
        ("o://{id}", "O://a"),
        ("o://{id}", " o://a"),
        ("o://{id}", "o://a\n/b"),
        ("f://{name}.{ext}", "f://a"),
        ("f:///{+path}/raw", "f:///raw"),
        ("l://all{?a}", "l://other?a=1"),
    ],
)
def test_another_uri_does_not_match(template: str, uri: str) -> None:
    assert UriTemplate(template).match(uri) is None


@pytest.mark.parametrize(
    "value",
    ["..", "..%2Fx", "%2e%2e", "a%2F..%2Fb", "%2e%2e%5Cb", "a%00b", "%", "%4", "%zz", "%ff", "%C3"],
)
def test_a_value_that_climbs_or_cannot_be_decoded_is_no_match(value: str) -> None:
    assert UriTemplate("f://{name}").match(f"f://{value}") is None
    assert UriTemplate("f:///{+path}").match(f"f:///{value}") is None
    assert UriTemplate("f://x{?q}").match(f"f://x?q={value}") is None


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("o://{a}/{b}", "o://a%2Fb", None),
        ("o://{a}/{b}", "o://a%2fb/c", {"a": "a/b", "b": "c"}),
        ("o://{id}", "o://a%3Fb%23c", {"id": "a?b#c"}),
        ("f:///{+path}{?v}", "f:///a%3Fv=1?v=2", {"path": "a?v=1", "v": "2"}),
        ("f://x{#part}", "f://x%23a", None),
        ("l://all{?a,b}", "l://all?a=1%26b=2", {"a": "1&b=2"}),
        ("l://all{?a}", "l://all?%61=x", {}),
        ("o://orders/{id}", "o://%6Frders/1", None),
        ("f:///{path}", "f:///%2Fetc%2Fpasswd", {"path": "/etc/passwd"}),
        ("o://{id}", "o://%ED%A0%80", None),
        ("o://{id}", "o://%C0%AF", None),
    ],
)
def test_an_encoded_character_parts_nothing_and_no_literal_is_decoded(
    template: str, uri: str, values: dict[str, str] | None
) -> None:
    assert UriTemplate(template).match(uri) == values


def test_nothing_is_decoded_twice() -> None:
    assert UriTemplate("f://{name}").match("f://%252e%252e%252Fx") == {"name": "%2e%2e%2Fx"}


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("", "does not begin with a scheme"),
        ("{id}", "does not begin with a scheme"),
        ("orders/{id}", "does not begin with a scheme"),
        ("o://{", "which no URI can hold"),
        ("o://{id", "which no URI can hold"),
        ("o://id}", "which no URI can hold"),
        ("o://{}", "which no URI can hold"),
        ("o://{i d}", "which no URI can hold"),
        ("o://{id*}", "which no URI can hold"),
        ("o://{id:3}", "which no URI can hold"),
        ("o://{/id}", "which no URI can hold"),
        ("o://a b/{id}", "which no URI can hold"),
        ("o://é/{id}", "which no URI can hold"),
        ("o://{a,b}", "several variables in one expression"),
        ("o://{a}/{a}", "names a variable twice"),
        ("o://{a}{b}", "nothing in between"),
        ("o://{a}{+b}", "nothing in between"),
        ("o://{+a}/{b}", "cannot be matched"),
        ("o://{+a}/x/{+b}", "cannot be matched"),
        ("o://x{?a}/y", "cannot be matched"),
        ("o://x{#a}y", "cannot be matched"),
        ("o://x{#a}{?b}", "cannot be matched"),
        ("o://x?y=1{?a}", "begins its query twice"),
    ],
)
def test_a_template_that_would_have_to_be_guessed_at_is_refused(template: str, told: str) -> None:
    with pytest.raises(TemplateInvalid, match=told):
        UriTemplate(template)


@pytest.mark.parametrize("text", ["o://recent", "urn:isbn:1", "file:///a%20b?c=d#e"])
def test_an_absolute_uri_is_one(text: str) -> None:
    check_uri(text)


@pytest.mark.parametrize("text", ["", "recent", "//host/a", "o://a b", "o://é", "o://%zz"])
def test_what_is_no_absolute_uri_is_refused(text: str) -> None:
    with pytest.raises(TemplateInvalid, match="is not an absolute URI"):
        check_uri(text)


@pytest.mark.parametrize(
    ("template", "names"),
    [
        ("o://{a}", ["a"]),
        ("o://{a}/x/{b}", ["a", "b"]),
        ("o://{a}{?b,c}", ["a", "b", "c"]),
        ("o://x{#a}", ["a"]),
    ],
)
@given(data=st.data())
def test_what_another_implementation_expands_is_matched_again(
    template: str, names: list[str], data: Any
) -> None:
    values = {name: data.draw(VALUES) for name in names}
    uri = uritemplate.expand(template, values)
    if len(uri) <= LONGEST and "#" not in template:
        assert UriTemplate(template).match(uri) == values


@given(LIKE_PATHS.filter(lambda text: ".." not in text and "%" not in text))
def test_a_reserved_expansion_is_matched_again(path: str) -> None:
    uri = uritemplate.expand("f:///{+path}/raw", {"path": path})
    assert UriTemplate("f:///{+path}/raw").match(uri) == {"path": path}


@given(st.text())
def test_no_text_makes_a_match_fail(uri: str) -> None:
    for template in ("o://{a}-{b}{?c}", "o:{+a}"):
        values = UriTemplate(template).match(uri)
        assert values is None or set(values) <= {"a", "b", "c"}


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("o://{a}-{b}-{c}-{d}-{e}/x", "o://" + "-" * 8000),
        ("o://{a}x{b}x{c}x{d}x{e}/{f}", "o://" + "x" * 8000),
        ("o://{a}a/{b}a/{+c}/x", "o://" + "a" * 4000 + "/" + "a" * 4000),
        ("o://x{?a,b}", "o://x?" + "&" * 8000),
    ],
)
def test_no_uri_takes_long(template: str, uri: str) -> None:
    started = time.perf_counter()
    UriTemplate(template).match(uri)
    assert time.perf_counter() - started < 0.1


def test_a_uri_longer_than_reason_is_not_looked_at() -> None:
    assert UriTemplate("o://{a}").match("o://" + "a" * LONGEST) is None


def test_more_specific_templates_rank_first() -> None:
    texts = ["f:///{+path}", "f:///{name}", "f:///public/{name}", "f:///{+path}/raw", "f:///{b}/x"]
    ranked = sorted(map(UriTemplate, texts), key=lambda template: template.rank)
    assert [template.text for template in ranked] == [
        "f:///public/{name}",
        "f:///{b}/x",
        "f:///{name}",
        "f:///{+path}/raw",
        "f:///{+path}",
    ]


def test_the_shape_of_a_template_is_without_its_names() -> None:
    assert UriTemplate("o://{a}/x{?q}").shape == UriTemplate("o://{b}/x").shape
    assert UriTemplate("o://{a}").shape != UriTemplate("o://{+a}").shape
