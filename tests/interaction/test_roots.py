"""What a handshake client says of its roots (`2025-11-25 client/roots`): asked for, and kept."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from mcp_app import Context
from mcp_app.models import Session
from mcp_app.testing import MCPClient
from tests.interaction import wire
from tests.interaction.conftest import LEGACY, MakeToken
from tests.interaction.tools import server

pytestmark = pytest.mark.django_db(transaction=True)

APPLICATIONS = [wire.endpoint_application, wire.django_application]
HOME = {"uri": "file:///home/ana", "name": "home"}


@pytest.fixture(params=APPLICATIONS, ids=["asgi", "django"])
def application(request: pytest.FixtureRequest) -> Any:
    """The two ways in that stream."""
    return request.param()


@pytest.fixture
def where(serve: Any) -> str:
    """A tool that says which roots are known, without asking."""

    def where(ctx: Context) -> str:
        """Say what is known."""
        known = ctx.known_roots
        return "unknown" if known is None else ", ".join(f"{r.name}={r.uri}" for r in known)

    return str(serve(where))


def client_of(token: str, version: str, **capabilities: Any) -> MCPClient:
    """A client whose session is open."""
    client = MCPClient(token, version=version, server=server, capabilities=capabilities)
    client.initialize()
    return client


def post(client: MCPClient, request_id: str, result: Any) -> int:
    """Answer a request of the server, asked or not."""
    response = {"jsonrpc": "2.0", "id": request_id, "result": result}
    return client.post(response).status


def answer(application: Any, client: MCPClient, request_id: str, result: Any) -> wire.Line:
    """Answer a request of the server by a POST."""
    return wire.send(application, client, {"jsonrpc": "2.0", "id": request_id, "result": result})


def requests(line: wire.Line) -> list[dict[str, Any]]:
    """The requests that have arrived."""
    return [event for event in line.events if "id" in event and "method" in event]


@pytest.mark.parametrize("version", LEGACY)
def test_a_session_is_asked_for_its_roots_and_again_when_they_change(
    application: Any, make_token: MakeToken, lanes: None, where: str, version: str
) -> None:
    client = client_of(make_token(), version, roots={"listChanged": True})
    say = sync_to_async(lambda: client.call(where).text)

    async def scenario() -> list[str]:
        line = wire.send(application, client, None, method="GET")
        await line.until(lambda: requests(line))
        said = [await say()]
        posted = answer(application, client, requests(line)[0]["id"], {"roots": [HOME]})
        await posted.end()
        assert (posted.status, posted.text) == (202, "")
        said.append(await say())
        changed = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
        await wire.send(application, client, changed).end()
        await line.until(lambda: len(requests(line)) == 2)
        said.append(await say())
        await answer(application, client, requests(line)[1]["id"], {"roots": []}).end()
        said.append(await say())
        await line.hang_up()
        return said

    assert async_to_sync(scenario)() == ["unknown", "home=file:///home/ana", "unknown", ""]


def test_who_declares_no_roots_is_not_asked(
    application: Any, make_token: MakeToken, lanes: None, where: str
) -> None:
    client = client_of(make_token(), "2025-11-25")

    async def scenario() -> wire.Line:
        line = wire.send(application, client, None, method="GET")
        await line.until(lambda: line.text)
        changed = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
        await wire.send(application, client, changed).end()
        await sync_to_async(client.end_session)()
        await line.end()
        return line

    assert requests(async_to_sync(scenario)()) == []


def test_a_session_whose_roots_are_known_is_not_asked_again(
    application: Any, make_token: MakeToken, lanes: None
) -> None:
    client = client_of(make_token(), "2025-11-25", roots={})
    Session.objects.update(roots=[HOME])

    async def scenario() -> wire.Line:
        line = wire.send(application, client, None, method="GET")
        await line.until(lambda: line.text)
        await line.hang_up()
        return line

    assert requests(async_to_sync(scenario)()) == []


def test_what_a_tool_asked_is_kept_for_the_next(
    application: Any, make_token: MakeToken, lanes: None, serve: Any, where: str
) -> None:
    def ask(ctx: Context) -> int:
        """Ask."""
        return len(ctx.roots())

    name = serve(ask)
    client = client_of(make_token(), "2025-06-18", roots={})

    async def scenario() -> str:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}}
        line = wire.send(application, client, call)
        await line.until(lambda: requests(line))
        await answer(application, client, requests(line)[0]["id"], {"roots": [HOME]}).end()
        await line.end()
        return await sync_to_async(lambda: client.call(where).text)()

    assert async_to_sync(scenario)() == "home=file:///home/ana"


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        (None, None),
        ({"roots": "all"}, None),
        ({"roots": [{"name": "no uri"}]}, None),
        ({"roots": [{"uri": "file:///a\0b", "name": 5}]}, [{"uri": "file:///ab"}]),
        ({"roots": [{"uri": "file:///" + "a" * 3000}, HOME]}, [HOME]),
        ({"roots": [HOME] * 101}, [HOME] * 100),
    ],
    ids=["none", "no list", "no uri", "nul", "too long", "too many"],
)
def test_roots_are_kept_as_far_as_they_can_be_read(
    make_token: MakeToken, result: Any, kept: Any
) -> None:
    client = client_of(make_token(), "2025-11-25", roots={})
    assert post(client, "roots-made-up", result) == 202
    assert Session.objects.get().roots == kept


def test_another_session_keeps_what_it_knows(make_token: MakeToken) -> None:
    token = make_token()
    told, other = (client_of(token, "2025-11-25", roots={}) for _ in range(2))
    post(told, "roots-made-up", {"roots": [HOME]})
    assert Session.objects.get(key=told.session_id).roots == [HOME]
    assert Session.objects.get(key=other.session_id).roots is None
