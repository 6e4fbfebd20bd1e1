"""Secrets: their form, their amount of chance, and that they show themselves nowhere."""

import pickle

import pytest

from mcp_app import token_form
from mcp_app.auth import hashing


def test_a_secret_has_the_documented_form() -> None:
    new = hashing.generate()
    prefix, lookup, rest = new.secret.reveal().split("_")
    assert (prefix, lookup) == ("mcp", new.lookup)
    assert (len(lookup), len(rest)) == (12, 39)
    assert set(lookup + rest) <= set(token_form.ALPHABET)


def test_the_random_part_has_at_least_192_bits() -> None:
    assert len(token_form.ALPHABET) ** hashing.RANDOM_LENGTH > 2**192


def test_parsing_gives_back_what_generating_stored() -> None:
    new = hashing.generate()
    assert hashing.parse(new.secret.reveal()) == (new.lookup, new.digest)


def test_the_lookup_may_be_chosen_and_the_rest_still_differs() -> None:
    first, second = hashing.generate("abcdefABCDEF"), hashing.generate("abcdefABCDEF")
    assert first.lookup == second.lookup == "abcdefABCDEF"
    assert first.digest != second.digest


def test_every_single_mistyped_character_is_refused() -> None:
    text = hashing.generate().secret.reveal()
    for place, character in enumerate(text):
        wrong = "x" if character != "x" else "y"
        assert hashing.parse(text[:place] + wrong + text[place + 1 :]) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mcp_",
        "mcp_abc_def",
        "x" * 56,
        "mcp_" + "é" * 52,
        "mcp_" + "\0" * 52,
        "mcp_" + "a" * 10_000,
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    assert hashing.parse(text) is None


@pytest.mark.parametrize("addition", [" ", "\n", "\0", "0"])
def test_a_good_text_with_something_after_it_is_refused(addition: str) -> None:
    text = hashing.generate().secret.reveal()
    assert hashing.parse(text + addition) is None
    assert hashing.parse(addition + text) is None


def test_a_secret_hides_from_every_way_of_printing() -> None:
    new = hashing.generate()
    random = new.secret.reveal()[17:]
    for shown in (str(new.secret), repr(new.secret), f"{new.secret}", "%s" % new.secret, repr(new)):  # noqa: UP031
        assert random not in shown


def test_a_secret_cannot_be_pickled_into_a_cache_or_session() -> None:
    with pytest.raises(TypeError, match="not stored"):
        pickle.dumps(hashing.generate().secret)


def test_digests_match_only_themselves() -> None:
    first, second = hashing.generate(), hashing.generate()
    assert hashing.matches(first.digest, first.digest)
    assert not hashing.matches(first.digest, second.digest)
