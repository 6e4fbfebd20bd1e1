"""Every call leaves its row, whatever became of it, and no row harms a call (D-080, 081, 083)."""

import threading
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings as django_settings
from django.db import connection, transaction
from django.test.utils import override_settings
from pydantic import BaseModel, Field, SecretStr

from mcp_app import Context, ToolError
from mcp_app.dispatch.interfaces import CallRecord
from mcp_app.dispatch.receipts import Receipt
from mcp_app.models import CallEvent
from mcp_app.protocol.versions import Era
from mcp_app.signals import tool_called, tool_denied
from mcp_app.testing import MCPClient
from mcp_app.transports.recording import recording_to
from tests.interaction.conftest import MODERN, MakeClient, MakeToken
from tests.interaction.tools import server

Serve = Callable[..., str]


@pytest.fixture
def atomic_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every view of the host runs in a transaction."""
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)


@pytest.mark.django_db(transaction=True)
def test_a_row_outlives_the_rollback_of_its_tool(
    make_client: MakeClient, lanes: None, atomic_requests: None, django_user_model: Any
) -> None:
    client = make_client()
    answer = client.call("make_user", {"username": "undone", "then_fail": True})
    assert answer.is_error
    assert not django_user_model.objects.filter(username="undone").exists()
    event = CallEvent.objects.get(tool="make_user")
    assert (event.outcome, event.error_class) == ("failed", "RuntimeError")
    assert event.token_name == "laptop"
    assert event.duration_ms is not None
    assert client.call("make_user", {"username": "kept"}).status == 200
    assert django_user_model.objects.filter(username="kept").exists()


@pytest.mark.django_db(transaction=True)
def test_each_way_to_end_is_one_row(
    make_client: MakeClient, lanes: None, atomic_requests: None, serve: Serve, version: str
) -> None:
    client = make_client(version)
    client.call("add", {"a": 1})
    client.call("make_user", {"username": "new"})
    client.call("make_user", {"username": "undone", "then_fail": True})
    client.call("make_user", {"username": "new"})
    client.call("refuse")
    client.call("staff_only")
    client.call("nowhere")
    client.call("add", {"a": "x"})
    client.call("scoped")
    client.call("sleep_for_ever")
    client.request("no/such/method")
    client.request("tools/call", {"name": "add", "arguments": "text"})
    client.post(b"{")
    client.tools()
    client.token = "mcp_wrong"
    client.call("add", {"a": 1})
    rows = CallEvent.objects.order_by("id").values_list("tool", "method", "outcome")
    assert list(rows) == [
        ("add", "tools/call", "ok"),
        ("make_user", "tools/call", "ok"),
        ("make_user", "tools/call", "failed"),
        ("make_user", "tools/call", "failed"),
        ("refuse", "tools/call", "error"),
        ("staff_only", "tools/call", "denied"),
        ("nowhere", "tools/call", "unknown"),
        ("add", "tools/call", "invalid"),
        ("scoped", "tools/call", "denied"),
        ("sleep_for_ever", "tools/call", "timeout"),
        ("", "no/such/method", "unknown"),
        ("add", "tools/call", "refused"),
        ("", "", "refused"),
        ("add", "tools/call", "unauthenticated"),
    ]
    for event in CallEvent.objects.all():
        assert event.duration_ms is not None
        assert len(event.correlation_id) == 32
        if event.outcome != "unauthenticated":
            assert (event.username, event.token_name) == ("ada", "laptop")
            assert len(event.token_lookup) == 12


@pytest.mark.django_db(transaction=True)
def test_a_tool_that_writes_has_a_row_before_it_runs(
    make_client: MakeClient, lanes: None, serve: Serve
) -> None:
    """A process that is killed meanwhile leaves it behind."""

    def look(ctx: Context) -> list[str]:
        rows = CallEvent.objects.filter(correlation_id=ctx.correlation_id)
        return list(rows.values_list("outcome", flat=True))

    async def alook(ctx: Context) -> list[str]:
        return await sync_to_async(look)(ctx)

    client = make_client()
    for tool in (look, alook):
        assert client.call(serve(tool)).structured == {"result": ["started"]}
        event = CallEvent.objects.get(tool=tool.__name__)
        assert event.outcome == "ok"
    reads = serve(look, name="reads", read_only=True)
    assert client.call(reads).structured == {"result": []}
    # Arguments that do not fit start nothing.
    assert client.call("scoped", {"number": "x"}).status == 403
    assert not CallEvent.objects.filter(outcome="started").exists()


@pytest.mark.django_db(transaction=True)
def test_an_answer_comes_after_its_row(make_client: MakeClient, lanes: None, version: str) -> None:
    client = make_client(version)
    for number in range(5):
        answer = client.call("add", {"a": number}, request_id=f"call {number}")
        assert CallEvent.objects.get(request_id=f"call {number}").outcome == "ok"
        assert answer.response["id"] == f"call {number}"


# --- what could spoil a row ----------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "x" * 1_000_000, "\x1b[31m", "🤖" * 1000])
def test_no_argument_spoils_its_call_or_its_row(mcp: MCPClient, text: str) -> None:
    answer = mcp.call("echo", {"text": text})
    assert answer.status == 200
    if text != "\ud800":
        assert answer.text == text
    event = CallEvent.objects.get(tool="echo")
    assert event.outcome in ("ok", "invalid")
    stored = event.arguments["text"]
    assert "\0" not in stored
    assert "\ud800" not in stored
    assert len(stored) < 100_000


def test_a_key_with_nul_and_a_name_without_end_are_stored_bounded(mcp: MCPClient) -> None:
    mcp.call("add", {"a": 1, "b\0": 2})
    mcp.call("n" * 100_000)
    invalid, unknown = CallEvent.objects.order_by("id")
    assert invalid.outcome == "invalid"
    assert "\0" not in str(invalid.arguments)
    assert unknown.outcome == "unknown"
    assert len(unknown.tool) == 128


def test_secrets_are_in_no_row(make_client: MakeClient, serve: Serve) -> None:
    def fail(note: str, api_key: str, pin: str) -> str:
        raise RuntimeError(f"could not use {api_key} with {pin}")

    def quote(text: str) -> str:
        raise ToolError(f"There is no {text}.")

    client = make_client()
    client.call("log_in", {"user": "ada", "password": "hunter2"})
    client.call(
        serve(fail, sensitive=["pin"]),
        {"note": f"Bearer {client.token}", "api_key": "hunter2", "pin": "4321-1234"},
    )
    encoded = client.token.replace("_", "%5F")
    client.call("echo", {"text": encoded})
    client.call(serve(quote), {"text": encoded})
    for event in CallEvent.objects.all():
        everything = "".join(str(getattr(event, f.attname)) for f in event._meta.concrete_fields)
        assert "hunter2" not in everything
        assert "4321-1234" not in everything
        assert client.token not in everything.replace("%5F", "_")


class Login(BaseModel):
    user: str
    hush: SecretStr
    next: "Login | None" = None


def test_marked_parts_misspelt_names_and_unknown_tools_leave_no_value(
    make_client: MakeClient, serve: Serve
) -> None:
    def log_in_at(login: Login, room: str = "") -> str:
        raise RuntimeError(f"cannot log in with {login.hush.get_secret_value()!r}")

    def keep_quiet(room: str) -> str:
        raise RuntimeError(f"no room {room}")

    client = make_client()
    serve(log_in_at)
    serve(keep_quiet, audit="digest")
    nested = {"user": "ben", "hush": "hunter3"}
    client.call("log_in_at", {"login": {"user": "ada", "hush": "hunter2", "next": nested}})
    client.call("log_in_at", {"login": {"user": "ada", "hsuh": "hunter2"}, "lgoin": "hunter3"})
    client.call("lgo_in_at", {"login": {"hush": "hunter2"}})
    client.call("keep_quiet", {"room": "hunter2"})
    rows = CallEvent.objects.order_by("id").values_list("arguments", flat=True)
    known, misspelt, unknown, digest = rows
    kept = {"user": "ben", "hush": "[redacted]"}
    assert known == {"login": {"user": "ada", "hush": "[redacted]", "next": kept}}
    assert misspelt == {"login": {"user": "ada", "hsuh": "[redacted]"}, "lgoin": "[redacted]"}
    assert unknown == {"login": "[redacted]"}
    assert list(digest) == ["hmac_sha256"]
    for event in CallEvent.objects.all():
        assert "hunter" not in event.error_text


def test_a_failed_validation_in_a_tool_is_logged_without_what_it_saw(
    make_client: MakeClient, serve: Serve
) -> None:
    class Account(BaseModel):
        iban: Annotated[str, Field(max_length=3)]

    def pay(iban: str) -> str:
        return Account(iban=iban[2:]).iban

    serve(pay, sensitive=["iban"])
    make_client().call("pay", {"iban": "XXAT61 1904"})
    event = CallEvent.objects.latest("id")
    assert (event.outcome, event.error_class) == ("failed", "ValidationError")
    assert event.error_text == "Account: iban string should have at most 3 characters"


def test_a_uri_is_not_kept_where_its_arguments_are_not(make_client: MakeClient) -> None:
    client = make_client()
    client.request("resources/read", {"uri": "vault://hunter2"})
    with override_settings(MCP_APP=django_settings.MCP_APP | {"AUDIT_ARGUMENTS": "names"}):
        client.request("resources/read", {"uri": "files:///public/hunter2"})
    for event in CallEvent.objects.filter(method="resources/read"):
        assert "hunter2" not in event.tool + event.error_text


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("colour", ["sync", "async"])
def test_a_missing_table_is_a_log_entry_and_not_a_failed_call(
    make_client: MakeClient,
    lanes: None,
    serve: Serve,
    caplog: pytest.LogCaptureFixture,
    missing_table: None,
    colour: str,
    django_user_model: Any,
) -> None:
    def write() -> str:
        django_user_model.objects.create(username="written")
        return "done"

    awrite = sync_to_async(write)

    async def write_async() -> str:
        return await awrite()

    client = make_client()
    assert client.call(serve(write if colour == "sync" else write_async)).text == "done"
    assert django_user_model.objects.filter(username="written").exists()
    assert "Could not store" in caplog.text
    assert client.call("add", {"a": 1}).text == '{"total":2}'


@pytest.mark.django_db(transaction=True)
def test_where_the_audit_is_required_nothing_is_written_without_it(
    make_client: MakeClient,
    lanes: None,
    settings: Any,
    missing_table: None,
    django_user_model: Any,
    serve: Serve,
) -> None:
    async def amake_user(username: str) -> str:
        await django_user_model.objects.acreate(username=username)
        return "made"

    serve(amake_user)
    client = make_client()
    with override_settings(MCP_APP={**settings.MCP_APP, "AUDIT_REQUIRED": True}):
        for name in ("make_user", "amake_user"):
            answer = client.call(name, {"username": "unseen"})
            assert answer.status == 500
            assert answer.error["code"] == -32603
            assert "could not be recorded" in answer.error["message"]
        assert not django_user_model.objects.filter(username="unseen").exists()
        # What only reads is answered all the same.
        assert client.call("add", {"a": 1}).text == '{"total":2}'


@pytest.fixture
def missing_table(lanes: None) -> Iterator[None]:
    """An audit table that is not there."""
    table = CallEvent._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f'ALTER TABLE "{table}" RENAME TO "{table}_away"')
    yield
    with connection.cursor() as cursor:
        cursor.execute(f'ALTER TABLE "{table}_away" RENAME TO "{table}"')


class LosesEverything:
    """A recorder whose database is down."""

    def submit(self, record: CallRecord) -> Receipt:
        receipt = Receipt()
        receipt.settle(False)
        return receipt


def test_a_recorder_that_loses_rows_fails_no_call_unless_rows_are_required(
    make_client: MakeClient, settings: Any, version: str, django_user_model: Any
) -> None:
    client = make_client(version)
    with recording_to(LosesEverything()):
        assert client.call("make_user", {"username": "first"}).status == 200
        settings.MCP_APP = {**settings.MCP_APP, "AUDIT_REQUIRED": True}
        with override_settings(MCP_APP={**settings.MCP_APP, "WORKERS": 0}):
            assert client.call("make_user", {"username": "second"}).status == 500
    assert django_user_model.objects.filter(username="first").exists()
    assert not django_user_model.objects.filter(username="second").exists()


@pytest.mark.django_db(transaction=True)
def test_a_call_inside_the_hosts_own_transaction_is_recorded_and_commits(
    make_token: MakeToken, lanes: None, django_user_model: Any
) -> None:
    """A test client, or a management command, may call within `atomic()`."""
    client = MCPClient(make_token(), server=server)
    with transaction.atomic():
        assert client.call("make_user", {"username": "inside"}).status == 200
    assert django_user_model.objects.filter(username="inside").exists()
    from mcp_app.transports.recording import recorder

    recorder().close()  # type: ignore[attr-defined]
    assert CallEvent.objects.get(tool="make_user").outcome == "ok"


# --- who did it ----------------------------------------------------------------------------------


def test_a_row_says_who_did_what_from_where(make_client: MakeClient, version: str) -> None:
    client = make_client(version)
    answer = client.call("add", {"a": 1}, request_id="my request")
    event = CallEvent.objects.get(tool="add")
    assert event.username == "ada"
    assert event.token_name == "laptop"
    assert event.token_lookup == client.token.split("_")[1]
    assert event.source == "token"
    assert event.request_id == "my request"
    assert event.session_id == (client.session_id or "")
    assert event.client_name == "mcp_app.testing"
    assert event.protocol_version == version
    assert event.address == "127.0.0.1"
    assert event.transport == ("asgi" if client._door == "asgi" else "http")
    if client.version.era is Era.MODERN and not answer.is_stream:
        assert event.result_bytes == len(answer.body)


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "6.6.6.6", "127.0.0.1"),
        (1, "6.6.6.6, 10.1.1.1", "10.1.1.1"),
        (2, "6.6.6.6, 10.1.1.1, 10.2.2.2", "10.1.1.1"),
        (1, "not an address", None),
        (1, "<script>", None),
        (3, "10.1.1.1", "10.1.1.1"),
    ],
)
def test_the_address_is_what_the_configured_proxies_say(
    make_client: MakeClient, settings: Any, proxies: int, forwarded: str, address: str | None
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "NUM_PROXIES": proxies}
    client = make_client()
    assert client.call("add", {"a": 1}, headers={"x-forwarded-for": forwarded}).status == 200
    assert CallEvent.objects.get().address == address


def test_what_a_modern_client_says_of_itself_is_trimmed_and_cleaned(
    make_client: MakeClient,
) -> None:
    info = {"name": "\x1b[2J<b>\0" + "n" * 1_000_000, "version": ["not", "text"]}
    client = make_client(MODERN, client_info=info)
    assert client.call("add", {"a": 1}).status == 200
    event = CallEvent.objects.get()
    assert event.client_name.startswith("[2J<b>")
    assert len(event.client_name) == 200
    assert event.client_version == ""


# --- who hears of it -----------------------------------------------------------------------------


@pytest.fixture
def heard() -> Iterator[list[tuple[str, str, Any]]]:
    """What the two signals told, in order."""
    told: list[tuple[str, str, Any]] = []

    def called(sender: Any, record: CallRecord, **kwargs: Any) -> None:
        told.append(("called", record.tool, record))

    def denied(sender: Any, record: CallRecord, **kwargs: Any) -> None:
        told.append(("denied", record.tool, record))

    tool_called.connect(called)
    tool_denied.connect(denied)
    yield told
    tool_called.disconnect(called)
    tool_denied.disconnect(denied)


def test_signals_tell_of_each_ended_call_with_its_secrets_removed(
    make_client: MakeClient, heard: list[Any]
) -> None:
    client = make_client()
    client.call("log_in", {"user": "ada", "password": "hunter2"})
    client.call("staff_only")
    client.call("nowhere")
    client.tools()
    assert [(kind, tool) for kind, tool, _ in heard] == [
        ("called", "log_in"),
        ("denied", "staff_only"),
    ]
    record = heard[0][2]
    assert record.arguments["user"] == "ada"
    assert "hunter2" not in str(record.arguments)
    assert record.outcome == "ok"


def test_hooks_and_receivers_that_fail_harm_nobody(
    mcp: MCPClient, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[CallEvent] = []

    def breaks(event: CallEvent) -> None:
        raise RuntimeError("the hook broke")

    def receiver(**kwargs: Any) -> None:
        raise RuntimeError("the receiver broke")

    tool_called.connect(receiver)
    configured = {**settings.MCP_APP, "ON_CALL": [breaks, seen.append], "WORKERS": 0}
    try:
        with override_settings(MCP_APP=configured):
            assert mcp.call("add", {"a": 1}).text == '{"total":2}'
    finally:
        tool_called.disconnect(receiver)
    assert [event.tool for event in seen] == ["add"]
    assert seen[0].pk is not None
    assert "the hook broke" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_slow_hook_delays_no_answer(make_client: MakeClient, lanes: None, settings: Any) -> None:
    release, told = threading.Event(), threading.Event()

    def slow(event: CallEvent) -> None:
        release.wait(10)
        told.set()

    client = make_client()
    with override_settings(MCP_APP={**settings.MCP_APP, "ON_CALL": [slow]}):
        assert client.call("add", {"a": 1}).text == '{"total":2}'
        assert not told.is_set()
        release.set()
        assert told.wait(10)
