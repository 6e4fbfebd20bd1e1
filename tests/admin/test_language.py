"""The admin's pages in the language that a browser asks for, down to the last label."""

import gettext
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import NoReverseMatch, reverse

import mcp_app
from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import issue
from mcp_app.models import Token
from tests.admin.pages import url

CATALOGUE = Path(mcp_app.__file__).parent / "locale" / "de" / "LC_MESSAGES" / "django.mo"


class Texts(HTMLParser):
    """The texts of a page, each as it stands between two tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.found.add(" ".join(data.split()))


@pytest.fixture(scope="module")
def english() -> set[str]:
    """Each text that reads otherwise in German."""
    with CATALOGUE.open("rb") as file:
        known = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    texts = {text[0] if isinstance(text, tuple) else text for text in known}
    return {text for text in texts if known_as(known, text) != text} - {""}


def known_as(known: dict[Any, str], text: str) -> str:
    """What the catalogue has for a text, or for one of what it counts."""
    return known.get(text) or known[text, 0]


def addresses() -> list[str]:
    """The pages of the app that stand for themselves."""
    names = [pattern.name for model in admin.site._registry.values() for pattern in model.urls]
    found = [reverse("admin:app_list", args=["mcp_app"])]
    for name in names:
        if name and name.startswith("mcp_app_"):
            try:
                found.append(reverse(f"admin:{name}"))
            except NoReverseMatch:
                continue  # It is about one row.
    return found


def in_german(client: Client, address: str, english: set[str]) -> set[str]:
    """What is left in English on a page."""
    response = client.get(address, headers={"accept-language": "de"})
    assert response.status_code in {200, 302, 403, 405}, address
    if response.status_code != 200 or not response["Content-Type"].startswith("text/html"):
        return set()
    page = response.content.decode()
    assert '<html lang="de"' in page or "<html" not in page, "whole, or a piece of one"
    return Texts(page).found & english


def test_pages_are_whole_in_german(
    boss_client: Client, english: set[str], issued: tuple[Token, Secret]
) -> None:
    left = {address: in_german(boss_client, address, english) for address in addresses()}
    assert len(left) >= 10
    assert not {address: texts for address, texts in left.items() if texts}


@pytest.mark.parametrize("page", ["change", "rotate", "revoke", "history"])
def test_a_tokens_pages_are_whole_in_german(
    boss_client: Client, english: set[str], issued: tuple[Token, Secret], page: str
) -> None:
    assert not in_german(boss_client, url(page, issued[0].pk), english)


@pytest.mark.parametrize("kind", ["tool:close_room", "tool:list_rooms"])
@pytest.mark.parametrize("page", ["entry", "explain", "try", "callers", "view-as"])
def test_the_pages_of_what_is_declared_are_whole_in_german(
    boss_client: Client, english: set[str], page: str, kind: str
) -> None:
    address = url(page, model="catalogue")
    arguments = {"reason", "status"}  # by their own names
    assert not in_german(boss_client, f"{address}?of=default:{kind}&user=boss", english - arguments)


def test_the_pages_of_own_tokens_are_whole_in_german(
    boss_client: Client, english: set[str], boss: Any
) -> None:
    token, _ = issue(user=boss, name="laptop", tools=["list_rooms"], read_only=True)
    addresses = [reverse(f"mcp_app_account:{page}") for page in ("tokens", "issue")]
    addresses += [
        reverse(f"mcp_app_account:{page}", args=[token.pk]) for page in ("rotate", "revoke")
    ]
    for address in addresses:
        assert not in_german(boss_client, address, english), address
