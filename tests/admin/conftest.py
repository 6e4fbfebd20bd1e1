"""People of the admin by what they may do, and a token of somebody's."""

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import issue
from mcp_app.catalog import registry
from mcp_app.models import Token


@pytest.fixture(autouse=True)
def plain_static_files(settings: Any) -> None:
    """Name static files as they are: no collected manifest is needed to render a page."""
    settings.STORAGES = settings.STORAGES | {
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    }


@pytest.fixture(autouse=True)
def declared_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the pages name what the example declares, and none of the servers of other tests."""
    monkeypatch.setattr(registry, "_servers", WeakSet({registry.default_server}))


@pytest.fixture
def ana(django_user_model: Any, db: None) -> Any:
    """An ordinary user."""
    return django_user_model.objects.create_user("ana", password="ana")


@pytest.fixture
def boss(django_user_model: Any, db: None) -> Any:
    """A superuser."""
    return django_user_model.objects.create_superuser("boss", password="boss")


@pytest.fixture
def boss_client(boss: Any) -> Client:
    """A browser in which a superuser is logged in."""
    client = Client()
    client.force_login(boss)
    return client


@pytest.fixture
def staff_client(django_user_model: Any, db: None) -> Callable[..., Client]:
    """Make a browser of a staff member with some of the app's permissions."""

    def make(*codenames: str) -> Client:
        user = django_user_model.objects.create_user(
            f"staff{django_user_model.objects.count()}", is_staff=True
        )
        found = Permission.objects.filter(content_type__app_label="mcp_app", codename__in=codenames)
        assert len(found) == len(codenames)
        user.user_permissions.set(found)
        client = Client()
        client.force_login(user)
        return client

    return make


@pytest.fixture
def issued(ana: Any) -> tuple[Token, Secret]:
    """A token of Ana's and its secret."""
    return issue(user=ana, name="laptop", scopes=["rooms:write"])
