"""People of the admin by what they may do, and a token of somebody's."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from weakref import WeakSet

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from mcp_app.access.switches import switch_for, turn
from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import issue, rotate
from mcp_app.catalog import registry
from mcp_app.models import CallEvent, CallOutcome, Session, Token
from tests.admin.pages import url


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


@pytest.fixture
def every_page(ana: Any) -> dict[str, str]:
    """The address of each page, of rows that there are."""
    now = timezone.now()
    token, _ = issue(user=ana, name="laptop", note="noteoftoken", expires_at=now + timedelta(3))
    rotate(token, grace=timedelta(days=1))
    newest = token.secrets.latest("pk")
    version = "2025-11-25"
    session = Session.objects.create(
        key="s", user=ana, token=token, client_name="clientofsession", protocol_version=version
    )
    called: dict[str, Any] = {
        **{"user": ana, "username": "ana", "token": token, "token_name": "laptop"},
        **{"token_lookup": newest.lookup, "method": "tools/call", "tool": "list_rooms"},
    }
    denied = CallOutcome.DENIED
    call = CallEvent.objects.create(**called, outcome=denied, error_text="textofcall")
    running = CallEvent.objects.create(
        **called, outcome=CallOutcome.STARTED, correlation_id="a" * 32
    )
    switch = turn(switch_for("read_only", "default", reason="Count.", by=ana))

    tool = "?of=default:tool:list_rooms"

    def of(model: str, page: str, *args: Any) -> str:
        return url(page, *args, model=model)

    return {
        "token list": of("token", "changelist"),
        "issue": of("token", "add"),
        "reach": of("token", "reach"),
        "token": of("token", "change", token.pk),
        "token history": of("token", "history", token.pk),
        "delete token": of("token", "delete", token.pk),
        "rotate": of("token", "rotate", token.pk),
        "revoke": of("token", "revoke", token.pk),
        "end secret": of("token", "end_secret", token.pk, newest.lookup),
        "calls": of("callevent", "changelist"),
        "add call": of("callevent", "add"),
        "call": of("callevent", "change", call.pk),
        "call history": of("callevent", "history", call.pk),
        "delete call": of("callevent", "delete", call.pk),
        "overview": of("callevent", "overview"),
        "csv": of("callevent", "export", "csv"),
        "jsonl": of("callevent", "export", "jsonl"),
        "tail": of("callevent", "tail"),
        "tail rows": of("callevent", "tail_rows"),
        "stop": of("callevent", "stop", running.pk),
        "sessions": of("session", "changelist"),
        "add session": of("session", "add"),
        "session": of("session", "change", session.pk),
        "session history": of("session", "history", session.pk),
        "delete session": of("session", "delete", session.pk),
        "connected": of("session", "connected"),
        "end stream": of("session", "end_stream"),
        "end session": of("session", "end", session.pk),
        "switches": of("switch", "changelist"),
        "set switch": of("switch", "add"),
        "switch": of("switch", "change", switch.pk),
        "switch history": of("switch", "history", switch.pk),
        "delete switch": of("switch", "delete", switch.pk),
        "lift": of("switch", "lift", switch.pk),
        "catalogue": of("catalogue", "changelist"),
        "entry": of("catalogue", "entry") + tool,
        "explain": of("catalogue", "explain"),
        "view as": of("catalogue", "view-as"),
        "callers": of("catalogue", "callers"),
        "try": of("catalogue", "try") + tool,
    }
