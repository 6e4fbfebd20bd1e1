"""An admin site of another name, below a language and a script name: its pages keep to it."""

from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import include, path, set_script_prefix

from mcp_app.admin.links import UserCalls
from mcp_app.models import CallEvent, Catalogue, Session, Switch, Token
from tests.admin.pages import LINK, html

HOME = "/shop/de/back/"
NOT_THERE = {"add call", "add session", "delete switch"}


class Users(UserCalls):
    """Users, as a product has them."""

    search_fields = ("username",)


@pytest.fixture
def site(settings: Any) -> Iterator[None]:
    """A second site that has what the default one has, mounted beside it."""
    other = AdminSite(name="backoffice")
    for model in (CallEvent, Catalogue, Session, Switch, Token):
        other.register(model, type(admin.site._registry[model]))
    other.register(get_user_model(), Users)
    both = [
        path("admin/", admin.site.urls),
        path("mcp", include("mcp_app.urls")),
        *i18n_patterns(path("back/", other.urls)),
    ]
    settings.ROOT_URLCONF = type("urls", (), {"urlpatterns": both})
    settings.FORCE_SCRIPT_NAME = "/shop"
    settings.MIDDLEWARE = [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.locale.LocaleMiddleware",
        *settings.MIDDLEWARE,
    ]
    set_script_prefix("/shop/")
    yield
    set_script_prefix("/")


def below(address: str, client: Client) -> Any:
    """What is answered behind a server that takes the script name away."""
    return client.get(address.removeprefix("/shop"))


def strays(address: str, answer: Any) -> set[str]:
    """The links of a page that leave the site, other than to the product."""
    links = (urljoin(address, unescape(link)) for link in LINK.findall(html(answer)))
    paths = {urlsplit(link).path for link in links if not urlsplit(link).netloc}
    return {one for one in paths if not one.startswith((HOME, "/shop/static/")) and one != "/shop"}


def test_each_page_leads_to_pages_of_its_own_site(
    boss_client: Client, every_page: dict[str, str], site: None
) -> None:
    pages = {name: HOME + page.removeprefix("/admin/") for name, page in every_page.items()}
    pages |= {"index": HOME, "app": f"{HOME}mcp_app/", "users": f"{HOME}auth/user/"}
    answers = {name: below(page, boss_client) for name, page in pages.items()}
    refused = {name for name, answer in answers.items() if answer.status_code != 200}
    assert refused == NOT_THERE
    shown = [name for name, answer in answers.items() if not answer.streaming]
    assert set().union(*(strays(pages[name], answers[name]) for name in shown)) == set()


def test_an_export_that_cannot_be_made_leads_to_the_list_of_its_own_site(
    boss_client: Client, site: None
) -> None:
    calls = f"{HOME}mcp_app/callevent/"
    answer = below(f"{calls}export/csv/?since=yesterday", boss_client)
    assert (answer.status_code, answer["Location"]) == (302, f"{calls}?since=yesterday")
