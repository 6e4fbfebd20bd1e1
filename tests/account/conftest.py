"""Two users who are no staff, and a browser of the first."""

from typing import Any

import pytest
from django.test import Client


@pytest.fixture(autouse=True)
def plain_static_files(settings: Any) -> None:
    """Name static files as they are: no collected manifest is needed to render a page."""
    settings.STORAGES = settings.STORAGES | {
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    }


@pytest.fixture(autouse=True)
def limits(settings: Any) -> None:
    """What an administrator lets users do."""
    settings.MCP_APP = {
        **settings.MCP_APP,
        "SCOPES": {"rooms:write": "Close rooms", "rooms:burn": "Burn them"},
        "ACCOUNT_SCOPES": ["rooms:write"],
        "ACCOUNT_MAX_DAYS": 30,
        "ACCOUNT_TOKENS": 2,
    }


@pytest.fixture
def ana(django_user_model: Any, db: None) -> Any:
    """An ordinary user."""
    return django_user_model.objects.create_user("ana", password="ana")


@pytest.fixture
def ben(django_user_model: Any, db: None) -> Any:
    """Another one."""
    return django_user_model.objects.create_user("ben")


@pytest.fixture
def browser(ana: Any) -> Client:
    """A browser in which Ana is signed in."""
    client = Client()
    client.force_login(ana)
    return client
