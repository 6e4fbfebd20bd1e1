"""What must hold in every host project, through every door; run with the project's settings."""

import contextlib
import io
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connections
from django.test import Client
from django.urls import NoReverseMatch, path, reverse
from django.utils import timezone

from mcp_app.audit.storage import database
from mcp_app.auth import liveness
from mcp_app.auth.tokens import issue, revoke
from mcp_app.dispatch.context import Caller
from mcp_app.dispatch.listening import Credential
from mcp_app.models import CallEvent, Session, Token
from mcp_app.testing import DOORS, MCPClient
from tests.hosts.walk import walk
from tests.interaction.tools import server

REAL = [a for a in connections if not connections.settings[a]["ENGINE"].endswith("dummy")]
HOME = "main" if "main" in REAL else "default"
pytestmark = pytest.mark.django_db(transaction=True, databases=REAL)

User = get_user_model()


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> Any:
    """Each way in."""
    return request.param


@pytest.fixture(params=["2026-07-28", "2025-11-25"])
def client(request: pytest.FixtureRequest, door: Any) -> MCPClient:
    """A client of each era, for a user of the host's."""
    user = User.objects.create_user(username="ada")
    _, secret = issue(user=user, name="laptop")
    return MCPClient(secret.reveal(), version=request.param, door=door, server=server)


def tokens() -> Any:
    return Token.objects.using(HOME)


def events() -> Any:
    return CallEvent._base_manager.using(database())


def test_calls_are_answered_and_recorded(client: MCPClient) -> None:
    assert "add" in [tool["name"] for tool in client.tools()]
    assert client.call("add", {"a": 1}).text == '{"total":2}'
    assert client.call("count_users").text == "1"
    assert client.call("whoami").text.startswith('{"user":"ada"')
    assert client.call("staff_only").error["code"] == -32602
    user = User.objects.get(username="ada")
    rows = events().order_by("id").values_list("tool", "outcome", "username", "user_id")
    assert list(rows) == [
        ("add", "ok", "ada", user.pk),
        ("count_users", "ok", "ada", user.pk),
        ("whoami", "ok", "ada", user.pk),
        ("staff_only", "denied", "ada", user.pk),
    ]


def test_everything_works(client: MCPClient) -> None:
    version, door = client.version.name, client._door

    def make(token: str = client.token, **options: Any) -> MCPClient:
        return MCPClient(token, version=version, door=door, server=server, **options)

    walk(make)


def test_a_tool_that_writes_has_its_row(client: MCPClient) -> None:
    answer = client.call("make_user", {"username": "grace", "then_fail": True})
    assert answer.is_error
    assert events().get(tool="make_user").outcome == "failed"


def test_a_session_begins_and_ends(client: MCPClient) -> None:
    client.initialize() if client.version.name == "2025-11-25" else client.tools()
    if client.session_id is None:
        pytest.skip("this era has no sessions")
    using = Session._base_manager.using("main" if database() == "calls" else "default")
    using.update(last_seen_at=using.get().last_seen_at.replace(second=0, microsecond=0))
    assert client.call("add", {"a": 1}).status == 200
    assert client.end_session().status == 204
    assert client.call("add", {"a": 1}).status == 404


def test_a_revoked_token_is_refused_at_once(client: MCPClient) -> None:
    assert client.call("add", {"a": 1}).status == 200
    alias = "main" if database() == "calls" else "default"
    revoke(Token._base_manager.using(alias).get())
    assert client.call("add", {"a": 1}).status == 401
    assert events().filter(outcome="unauthenticated").count() == 1


def test_the_system_checks_pass_and_no_migration_is_missing() -> None:
    call_command("check")
    call_command("makemigrations", "mcp_app", check=True, dry_run=True, verbosity=0)


def test_a_deleted_users_calls_stay_with_the_name(client: MCPClient) -> None:
    assert client.call("add", {"a": 1}).status == 200
    for user in User.objects.all():
        user.delete()
    rows = events().values_list("username", "token_name", "user_id", "token_id")
    assert set(rows) == {("ada", "laptop", None, None)}


@pytest.mark.parametrize("alias", REAL)
def test_a_read_only_tool_writes_in_no_database(client: MCPClient, alias: str) -> None:
    def write() -> str:
        """Write where nobody looks."""
        with connections[alias].cursor() as cursor:
            cursor.execute("CREATE TABLE written (n int)")
        return "written"

    server.tool(read_only=True)(write)
    try:
        assert "tried to write" in client.call("write").text
    finally:
        server.remove("write")
    assert events().get(tool="write").error_class == "ReadOnlyViolation"
    with connections[alias].cursor() as cursor:
        assert "written" not in connections[alias].introspection.table_names(cursor)


def test_the_admins_pages_tell_of_calls(client: MCPClient, settings: Any) -> None:
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = settings.STORAGES | {"staticfiles": plain}
    browser = Client()
    browser.force_login(User.objects.create_superuser(username="boss"))
    assert client.call("add", {"a": 1}).status == 200
    settings.ROOT_URLCONF = type("urls", (), {"urlpatterns": [path("admin/", admin.site.urls)]})
    names = ("mcp_app_callevent_overview", "mcp_app_callevent_changelist")
    overview, calls = (browser.get(reverse(f"admin:{name}")).content.decode() for name in names)
    # A replica that has received nothing yet has nothing to show.
    seen = CallEvent.objects.using(database()).count() if "replica" not in REAL else 0
    assert ("ada" in overview, "ada" in calls) == (bool(seen), bool(seen))
    if seen:
        story = reverse("admin:mcp_app_callevent_change", args=[events().get().pk])
        text = browser.get(story).content.decode()
        assert "ada" in text.partition("Who called")[2].partition("</section>")[0]
        assert "The calls around it" in text


def pages() -> Iterator[str]:
    """The address of each page of ours in the admin that needs no row."""
    for pattern in admin.site.get_urls():
        for page in getattr(pattern, "url_patterns", []):
            with contextlib.suppress(NoReverseMatch):
                address = reverse(f"admin:{page.name}") if page.name else ""
                if address.startswith("/admin/mcp_app/") and "form" not in page.pattern.converters:
                    yield address


def test_every_page_of_the_admin_opens(settings: Any) -> None:
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = settings.STORAGES | {"staticfiles": plain}
    settings.ROOT_URLCONF = type("urls", (), {"urlpatterns": [path("admin/", admin.site.urls)]})
    browser = Client()
    browser.force_login(User.objects.create_superuser(username="boss"))
    opened = {page: browser.get(page).status_code for page in pages()}
    # Calls and sessions are not added by hand, acts take POST, and the entry is of nothing.
    assert set(opened.values()) <= {200, 302, 403, 404, 405}, opened
    assert sum(status == 200 for status in opened.values()) >= 15


def test_calls_are_sealed_verified_exported_and_pruned(client: MCPClient) -> None:
    assert client.call("add", {"a": 1}).status == 200
    out = io.StringIO()
    call_command("mcp_seal", stdout=out)
    User.objects.all().delete()
    call_command("mcp_seal", verify=True, stdout=out)
    call_command("mcp_export", user="ada", stdout=out)
    assert "Nothing was changed in 2 links" in out.getvalue()
    assert '"tool": "add"' in out.getvalue()
    events().update(created_at=timezone.now() - timedelta(days=9))
    call_command("mcp_prune", "--older-than", "1w", stdout=out)
    assert not events().exists()
    call_command("mcp_seal", verify=True, stdout=out)


def test_who_works_now_is_found_by_queries_too(client: MCPClient) -> None:
    user, token = User.objects.get(username="ada"), tokens().get()
    caller = Caller(user, auth=token, token_lookup=token.secrets.using(HOME).get().lookup)
    credential = Credential(user.pk, token.pk, None, caller.token_lookup)
    assert tokens().live().get() == token
    assert credential in liveness.find_standing([credential])
    found = liveness.recall(caller)()
    assert found is not None
    assert found.user == user
    out = io.StringIO()
    call_command("mcp_token", "due", "--days", "3", stdout=out)
    if "replica" not in REAL:
        tokens().update(expires_at=timezone.now() + timedelta(days=1))
        call_command("mcp_token", "due", "--days", "3", stdout=out)
        assert "laptop" in out.getvalue()
    revoke(token)
    assert not tokens().live().exists()
    assert liveness.find_standing([credential]) == {}
    assert liveness.recall(caller)() is None
