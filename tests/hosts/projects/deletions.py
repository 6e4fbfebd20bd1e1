"""What a deleted user or token leaves in the call log, wherever the host keeps its calls."""

import io
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connections, transaction
from django.test import Client
from django.urls import path, reverse
from django.utils import timezone

from mcp_app.admin import CallEventAdmin, TokenAdmin
from mcp_app.audit.storage import database
from mcp_app.auth.tokens import issue, revoke, rotate
from mcp_app.dispatch.dispatcher import new_record
from mcp_app.models import CallEvent, Session, Token, TokenSecret
from mcp_app.testing import MCPClient
from mcp_app.transports.recording import recorder
from tests.interaction.tools import server

REAL = [a for a in connections if not connections.settings[a]["ENGINE"].endswith("dummy")]
HOME = "main" if "main" in REAL else "default"
HAS_REPLICA = "replica" in REAL
pytestmark = pytest.mark.django_db(transaction=True, databases=REAL)

User = get_user_model()
site = admin.AdminSite(name="site")
site.register(User, admin.ModelAdmin)
site.register(Token, TokenAdmin)
site.register(CallEvent, CallEventAdmin)


def tokens() -> Any:
    return Token._base_manager.using(HOME)


def events() -> Any:
    return CallEvent._base_manager.using(database())


@pytest.fixture
def browser(settings: Any, called: Any) -> Client:
    """A superuser's, on a site with users, tokens and calls."""
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = settings.STORAGES | {"staticfiles": plain}
    settings.ROOT_URLCONF = type("urls", (), {"urlpatterns": [path("site/", site.urls)]})
    client = Client()
    client.force_login(User.objects.create_superuser(username="boss"))
    return client


@pytest.fixture
def called() -> Any:
    """A user who has called with a token, under both of its secrets, and was refused; sealed."""
    user = User.objects.create_user(username="ada")
    token, secret = issue(user=user, name="laptop")
    new = rotate(token, grace=timedelta(hours=1))
    for text in (secret, new):
        client = MCPClient(text.reveal(), version="2025-11-25", server=server)
        assert client.call("add", {"a": 1}).status == 200
    client.call("staff_only")
    call_command("mcp_seal", stdout=io.StringIO())
    return user


# --- ways to delete ------------------------------------------------------------------------------


def by_instance(user: Any, browser: Client) -> None:
    tokens().get().delete()
    user.delete()


def the_user_alone(user: Any, browser: Client) -> None:
    user.delete()


def by_query(user: Any, browser: Client) -> None:
    tokens().all().delete()
    User.objects.filter(username="ada").delete()


def by_purge(user: Any, browser: Client) -> None:
    revoke(tokens().get(), now=timezone.now() - timedelta(days=3))
    call_command("mcp_token", "purge", "--older-than", "1", stdout=io.StringIO())
    assert not tokens().exists()
    user.delete()


def on_pages(user: Any, browser: Client) -> None:
    if HAS_REPLICA:
        pytest.skip("its admin sees no tokens")
    address = reverse("site:mcp_app_token_delete", args=[tokens().get().pk])
    assert "laptop" in browser.get(address).content.decode()
    assert browser.post(address, {"post": "yes"}).status_code == 302
    users = reverse(f"site:{User._meta.app_label}_{User._meta.model_name}_changelist")
    chosen = {"action": "delete_selected", "_selected_action": [user.pk]}
    assert "ada" in browser.post(users, chosen).content.decode()
    assert browser.post(users, {**chosen, "post": "yes"}).status_code == 302


def by_statements(user: Any, browser: Client) -> None:
    for model in (Session, TokenSecret, Token):
        model._base_manager.using(HOME).all()._raw_delete(HOME)
    User._base_manager.using(HOME).filter(username="ada")._raw_delete(HOME)


WAYS = [by_instance, the_user_alone, by_query, by_purge, on_pages, by_statements]
Way = Callable[[Any, Client], None]


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def deleted(request: pytest.FixtureRequest, called: Any, browser: Client) -> Way:
    """The user and the token are gone."""
    way: Way = request.param
    way(called, browser)
    assert not tokens().exists()
    assert not User.objects.filter(username="ada").exists()
    return way


# --- what is left --------------------------------------------------------------------------------


def test_names_stay_and_keys_go(deleted: Way) -> None:
    rows = events().exclude(tool="").values_list("username", "token_name", "user_id", "token_id")
    assert len(rows) == 3
    assert {row[:2] for row in rows} == {("ada", "laptop")}
    assert all(events().exclude(tool="").values_list("token_lookup", flat=True))
    if deleted is not by_statements:
        assert {row[2:] for row in rows} == {(None, None)}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_call_that_runs_meanwhile_keeps_its_names_alone(
    called: Any, browser: Client, way: Way
) -> None:
    long = 1.0 if way is by_statements else 0.0
    record = new_record(method="tools/call", correlation_id="d" * 32)
    record.user, record.token = called, tokens().get()
    record.outcome, record.tool, record.duration = "ok", "add", long
    way(called, browser)
    assert recorder().submit(record).result(10)
    row = events().get(correlation_id="d" * 32)
    assert (row.username, row.token_name) == ("ada", "laptop")
    assert (row.user_id, row.token_id) == (None, None)


def test_every_page_of_calls_opens(deleted: Way, browser: Client) -> None:
    calls = reverse("site:mcp_app_callevent_changelist")
    event = events().exclude(tool="").first()
    queries = ["", "?user=ada", "?token=laptop", f"?token=mcp_{event.token_lookup}", "?q=ada"]
    for query in queries:
        page = browser.get(calls + query)
        assert page.status_code == 200
        # A key that statements left behind is nobody's.
        if not HAS_REPLICA and deleted is not by_statements:
            assert "laptop" in page.content.decode(), query
    for name in ("overview", "export"):
        for args in ([],) if name == "overview" else (["csv"], ["jsonl"]):
            answer = browser.get(reverse(f"site:mcp_app_callevent_{name}", args=args))
            assert answer.status_code == 200
            text = b"".join(answer).decode()
            assert HAS_REPLICA or name == "overview" or text.count("laptop") == 3
    story = browser.get(reverse("site:mcp_app_callevent_change", args=[event.pk]))
    assert story.status_code == (302 if HAS_REPLICA else 200)
    assert HAS_REPLICA or "ada" in story.content.decode().partition("Who called")[2]


def test_commands_export_and_verify_what_is_left(deleted: Way) -> None:
    out = io.StringIO()
    call_command("mcp_export", stdout=out)
    assert out.getvalue().count('"token_name": "laptop"') == 3
    call_command("mcp_seal", verify=True, stdout=out)
    assert "Nothing was changed" in out.getvalue()


def test_a_later_namesake_is_given_none_of_the_calls(
    deleted: Way,
) -> None:
    later = User.objects.create_user(username="ada")
    token, _ = issue(user=later, name="laptop")
    assert not events().filter(user=later.pk).exists()
    assert not events().filter(token=token.pk).exists()


def test_a_deletion_that_is_rolled_back_leaves_the_calls_theirs(called: Any) -> None:
    before = set(events().values_list("user_id", "token_id"))
    with transaction.atomic(using=HOME):
        called.delete()
        transaction.set_rollback(True, using=HOME)
    assert User.objects.filter(username="ada").exists()
    assert set(events().values_list("user_id", "token_id")) == before


def test_asking_whether_to_delete_changes_nothing(called: Any, browser: Client) -> None:
    before = set(events().values_list("user_id", "token_id"))
    users = f"site:{User._meta.app_label}_{User._meta.model_name}_delete"
    assert browser.get(reverse(users, args=[called.pk])).status_code == 200
    assert set(events().values_list("user_id", "token_id")) == before


@pytest.mark.skipif(database() == HOME, reason="the calls are where the users are")
def test_a_log_that_cannot_be_written_keeps_nobody_from_being_deleted(
    called: Any, browser: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with connections[database()].cursor() as cursor:
        cursor.execute("PRAGMA query_only = ON")
        try:
            called.delete()
        finally:
            cursor.execute("PRAGMA query_only = OFF")
    assert not User.objects.filter(username="ada").exists()
    assert "readonly database" in caplog.text
    story = reverse("site:mcp_app_callevent_change", args=[events().first().pk])
    assert "ada" in browser.get(story).content.decode()
