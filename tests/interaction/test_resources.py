"""Resources and templates listed and read, the same over every door and revision."""

import base64
import json
from typing import Any

import pytest

from mcp_app.models import CallEvent
from mcp_app.protocol.versions import Era
from mcp_app.testing import Door, MCPClient
from tests.catalog import wire
from tests.interaction import resources
from tests.interaction.conftest import MakeClient, MakeToken
from tests.interaction.tools import server
from tests.interaction.urls import bare


def not_found(mcp: MCPClient) -> int:
    return -32602 if mcp.version.era is Era.MODERN else -32002


def contents(mcp: MCPClient, uri: str) -> dict[str, Any]:
    answer = mcp.read(uri)
    assert answer.status == 200, answer.body
    wire.check(mcp.version, "ReadResourceResult", answer.result)
    [found] = answer.result["contents"]
    return found


def test_resources_are_listed_by_uri(mcp: MCPClient) -> None:
    answer = mcp.request("resources/list")
    wire.check(mcp.version, "ListResourcesResult", answer.result)
    uris = [resource["uri"] for resource in answer.result["resources"]]
    assert uris == sorted(uris)
    assert "text://static" in uris
    assert not any("{" in uri for uri in uris)


def test_templates_are_listed_apart(mcp: MCPClient) -> None:
    answer = mcp.request("resources/templates/list")
    wire.check(mcp.version, "ListResourceTemplatesResult", answer.result)
    found = {item["uriTemplate"]: item for item in answer.result["resourceTemplates"]}
    assert found["orders://{number}"]["name"] == "order"
    assert found["orders://{number}"]["description"] == "One order."


def test_a_resource_has_the_fields_of_its_revision(mcp: MCPClient) -> None:
    found = {resource["uri"]: resource for resource in mcp.resources()}["text://static"]
    version = mcp.version
    expected: dict[str, Any] = {
        "uri": "text://static",
        "name": "static_text",
        "description": "Some text.",
        "mimeType": "text/markdown",
        "size": 5,
        "annotations": {"audience": ["user"], "priority": 0.5},
    }
    if version.item_meta:
        expected["annotations"]["lastModified"] = "2026-01-02T03:04:05Z"
        expected["_meta"] = {"example.com/kind": "x"}
    if version.titles:
        expected["title"] = "Static text"
    if version.icons:
        expected["icons"] = [resources.ICON]
    assert found == expected


def test_a_text_is_read_as_it_is(mcp: MCPClient) -> None:
    assert contents(mcp, "text://static") == {
        "uri": "text://static",
        "mimeType": "text/markdown",
        "text": "hello",
    }


def test_bytes_are_read_in_base64(mcp: MCPClient) -> None:
    found = contents(mcp, "bytes://pixel")
    assert base64.b64decode(found.pop("blob"), validate=True) == resources.PIXEL
    assert found == {"uri": "bytes://pixel", "mimeType": "image/png"}
    assert contents(mcp, "bytes://plain")["mimeType"] == "application/octet-stream"


def test_other_values_are_read_as_json(mcp: MCPClient) -> None:
    found = contents(mcp, "orders://recent")
    assert found["mimeType"] == "application/json"
    assert json.loads(found["text"]) == [
        {"number": 2, "status": "open"},
        {"number": 1, "status": "shipped"},
    ]


def test_several_contents_each_have_their_own_uri_and_type(mcp: MCPClient) -> None:
    result = mcp.read("several://parts").result
    wire.check(mcp.version, "ReadResourceResult", result)
    first, second = result["contents"]
    assert first == {"uri": "several://parts", "mimeType": "text/csv", "text": "a,b"}
    assert (second["uri"], second["mimeType"]) == ("several://parts/1", "image/png")
    assert ("_meta" in second) == mcp.version.item_meta


def test_a_template_variable_arrives_with_its_type(mcp: MCPClient) -> None:
    assert contents(mcp, "orders://17")["text"] == '{"number":17,"status":"open"}'
    assert contents(mcp, "orders://17")["uri"] == "orders://17"


def test_query_variables_may_be_left_out_and_come_in_any_order(mcp: MCPClient) -> None:
    assert contents(mcp, "orders://all")["text"] == '{"status":"open","page":1}'
    found = contents(mcp, "orders://all?page=3&status=shipped&other=1")
    assert found["text"] == '{"status":"shipped","page":3}'


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("files:///a/b.txt", "a/b.txt"),
        ("files:///a%20b", "a b"),
        ("files:///%252e%252e/x", "%2e%2e/x"),
        ("files:///public/a", "public a"),
        ("files:///public/a/b", "public/a/b"),
        ("files:///public/a%2Fb", "public a/b"),
        # An encoded slash makes it another template's; the value is the same.
        ("files:///public%2Fa", "public/a"),
        ("files:///%70ublic/a", "public/a"),
        ("files:////etc/passwd", "/etc/passwd"),
    ],
)
def test_the_most_specific_template_answers_with_values_decoded_once(
    modern: MCPClient, uri: str, text: str
) -> None:
    assert contents(modern, uri)["text"] == text


@pytest.mark.parametrize("uri", ["files:///../etc/passwd", "files:///a/%2e%2e/b", "files:///%zz"])
def test_a_path_that_climbs_is_no_resource(modern: MCPClient, uri: str) -> None:
    assert modern.read(uri).error["data"] == {"uri": uri}


def test_hidden_and_absent_resources_read_the_same(mcp: MCPClient) -> None:
    uris = ["staff://secret", "staff://page", "nowhere://at-all"]
    answers = [mcp.read(uri) for uri in uris]
    for uri, answer in zip(uris, answers, strict=True):
        assert answer.error == {
            "code": not_found(mcp),
            "message": "Resource not found",
            "data": {"uri": uri},
        }
    assert len({answer.status for answer in answers}) == 1
    assert "staff://secret" not in [resource["uri"] for resource in mcp.resources()]
    assert "staff://{name}" not in [found["uriTemplate"] for found in mcp.templates()]
    outcomes = CallEvent.objects.order_by("pk").values_list("tool", "outcome", "decision")
    assert list(outcomes) == [
        ("staff://secret", "denied", "deny"),
        ("staff://page", "denied", "deny"),
        ("nowhere://at-all", "unknown", "deny"),
    ]


def test_staff_see_what_is_theirs(
    make_client: MakeClient, make_token: MakeToken, staff: Any, version: str
) -> None:
    client = make_client(version, make_token(staff))
    assert "staff://secret" in [resource["uri"] for resource in client.resources()]
    assert contents(client, "staff://secret")["text"] == "secret"


def test_a_value_that_does_not_fit_its_type_is_no_resource(mcp: MCPClient) -> None:
    answer = mcp.read("orders://0")
    assert answer.error["code"] == not_found(mcp)
    assert "number: should be greater than or equal to 1" in answer.error["message"]
    assert CallEvent.objects.get().outcome == "invalid"


def test_a_read_is_an_event_when_its_answer_has_arrived(mcp: MCPClient) -> None:
    mcp.read("orders://17")
    event = CallEvent.objects.get()
    assert (event.method, event.tool) == ("resources/read", "orders://17")
    assert (event.outcome, event.decision, event.username) == ("ok", "allow", "ada")
    assert event.arguments == {"number": "17"}
    assert event.result_bytes


def test_lists_are_no_events(mcp: MCPClient) -> None:
    mcp.resources()
    mcp.templates()
    assert not CallEvent.objects.exists()


def test_a_secret_in_a_uri_is_not_stored(mcp: MCPClient) -> None:
    assert contents(mcp, "vault://hunter2-is-the-key")["text"] == "found"
    event = CallEvent.objects.get()
    assert event.tool == "vault://{key}"
    assert "hunter2" not in str(event.arguments)


def test_permission_classes_see_a_request_that_reads(mcp: MCPClient) -> None:
    found = contents(mcp, "who://am-i")
    assert json.loads(found["text"]) == {"user": "ada", "method": "GET"}


def test_a_token_without_the_scope_is_told_which_one(
    make_client: MakeClient, make_token: MakeToken, version: str
) -> None:
    client = make_client(version)
    answer = client.read("rooms://4")
    assert answer.status == 403
    assert 'scope="rooms:write"' in answer.headers["www-authenticate"]
    assert "rooms://{number}" not in [found["uriTemplate"] for found in client.templates()]
    allowed = make_client(version, make_token(None, "rooms:write"))
    assert contents(allowed, "rooms://4")["text"] == "4"


def test_reads_are_throttled(mcp: MCPClient) -> None:
    assert [mcp.read("rare://page").status for _ in range(3)] == [200, 200, 429]
    assert CallEvent.objects.latest("pk").outcome == "throttled"


@pytest.mark.parametrize("uri", ["steps://page", "asteps://page"])
def test_a_resource_may_report_progress(mcp: MCPClient, uri: str) -> None:
    answer = mcp.read(uri, meta={"progressToken": "p"})
    assert answer.result["contents"][0]["text"] == "read"
    if mcp._door != "view":
        assert answer.notifications[0]["params"]["progressToken"] == "p"


def test_a_slow_resource_is_given_up(mcp: MCPClient) -> None:
    answer = mcp.read("slow://page")
    assert answer.error["code"] == -32603
    assert answer.error["message"] == "The resource did not finish within 0.2 seconds."
    assert CallEvent.objects.get().outcome == "timeout"


@pytest.mark.parametrize("how", ["missing", "gone", "none"])
def test_a_function_may_find_nothing(mcp: MCPClient, how: str) -> None:
    answer = mcp.read(f"fails://{how}")
    assert answer.error == {
        "code": not_found(mcp),
        "message": "Resource not found",
        "data": {"uri": f"fails://{how}"},
    }
    assert CallEvent.objects.get().outcome == "error"


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("said", "The printer is out of paper"),
        ("denied", "Not yours."),
        ("invalid", "Too long."),
    ],
)
def test_a_failure_with_words_for_the_caller_is_an_error_with_them(
    mcp: MCPClient, how: str, text: str
) -> None:
    answer = mcp.read(f"fails://{how}")
    assert answer.error == {"code": -32603, "message": text}
    assert answer.status == 200


@pytest.mark.parametrize("how", ["unexpected", "unencodable"])
def test_an_unexpected_failure_is_an_error_with_a_correlation_id(
    mcp: MCPClient, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = mcp.read(f"fails://{how}")
    event = CallEvent.objects.get()
    assert answer.error == {
        "code": -32603,
        "message": f"The resource failed. Correlation id: {event.correlation_id}",
    }
    assert event.outcome == "failed"
    assert event.correlation_id in caplog.text


def test_a_resource_that_is_too_large_is_refused(mcp: MCPClient, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "MAX_RESULT_BYTES": 5000}
    assert mcp.read("large://100").status == 200
    answer = mcp.read("large://6000")
    assert answer.error["code"] == -32603
    assert "too large" in answer.error["message"]
    assert CallEvent.objects.latest("pk").result_bytes > 6000


def test_uris_must_be_given_and_be_text(mcp: MCPClient) -> None:
    headers = {"mcp-name": "5"} if mcp.version.era is Era.MODERN else {}
    for params in ({}, {"uri": 5}):
        answer = mcp.request("resources/read", params, headers=headers)
        assert answer.error["code"] == -32602


@pytest.mark.parametrize(
    ("method", "member"),
    [("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")],
)
def test_lists_come_in_pages(mcp: MCPClient, settings: Any, method: str, member: str) -> None:
    whole = mcp.pages(method, member)
    settings.MCP_APP = {**settings.MCP_APP, "PAGE_SIZE": 3}
    assert mcp.pages(method, member) == whole
    first = mcp.request(method).result
    wire.check(
        mcp.version,
        "ListResourcesResult" if member == "resources" else "ListResourceTemplatesResult",
        first,
    )
    assert len(first[member]) == 3
    for cursor in ("garbage", "", first["nextCursor"][:-2]):
        assert mcp.request(method, {"cursor": cursor}).error["code"] == -32602
    elsewhere = mcp.request("tools/list", {"cursor": first["nextCursor"]})
    assert elsewhere.error["code"] == -32602


def test_what_may_be_cached_is_said_per_resource(modern: MCPClient) -> None:
    hints = {
        uri: (result["ttlMs"], result["cacheScope"])
        for uri in ("text://static", "orders://recent", "open://page")
        if (result := modern.read(uri).result)
    }
    # Without anonymous callers nothing is everybody's, whatever a resource says.
    assert hints == {
        "text://static": (5000, "private"),
        "orders://recent": (0, "private"),
        "open://page": (60_000, "private"),
    }
    listed = modern.request("resources/list").result
    assert (listed["ttlMs"], listed["cacheScope"]) == (60_000, "private")


def test_only_what_says_so_and_is_open_to_everybody_may_be_shared(
    modern: MCPClient, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "ALLOW_ANONYMOUS": True}
    assert modern.read("open://page").result["cacheScope"] == "public"
    assert modern.read("text://static").result["cacheScope"] == "private"


def test_contents_that_depend_on_answers_are_not_to_be_cached(modern: MCPClient) -> None:
    answer = modern.request("resources/read", {"uri": "text://static", "inputResponses": {}})
    assert answer.result["ttlMs"] == 0


def test_older_revisions_have_no_caching_hints(legacy: MCPClient) -> None:
    assert set(legacy.read("text://static").result) == {"contents"}
    assert set(legacy.request("resources/list").result) == {"resources"}


def test_nothing_is_served_or_announced_where_nothing_is_declared(
    make_token: MakeToken, door: Door, version: str
) -> None:
    client = MCPClient(make_token(), version=version, door=door, path="/bare", server=bare)
    modern = client.version.era is Era.MODERN
    opening = client.request("server/discover") if modern else client.initialize()
    assert set(opening.result["capabilities"]) <= {"tools", "logging"}
    requests: dict[str, dict[str, Any]] = {
        "resources/list": {},
        "resources/templates/list": {},
        "resources/read": {"uri": "text://static"},
        "prompts/list": {},
        "prompts/get": {"name": "simple"},
        "completion/complete": {
            "ref": {"type": "ref/prompt", "name": "simple"},
            "argument": {"name": "a", "value": ""},
        },
    }
    for method, params in requests.items():
        answer = client.request(method, params)
        assert (answer.status, answer.error["code"]) == (404 if modern else 200, -32601), method


def test_what_is_declared_is_announced(mcp: MCPClient) -> None:
    modern = mcp.version.era is Era.MODERN
    opening = mcp.request("server/discover") if modern else mcp.initialize()
    wire.check(mcp.version, "DiscoverResult" if modern else "InitializeResult", opening.result)
    announced = opening.result["capabilities"]
    assert {"prompts", "resources", "tools"} <= set(announced)
    assert ("completions" in announced) == (mcp.version.name != "2024-11-05")


def test_a_resource_that_is_taken_out_is_gone(modern: MCPClient) -> None:
    server.resource("gone://soon")(lambda: "here")
    assert contents(modern, "gone://soon")["text"] == "here"
    assert server.remove_resource("gone://soon") is not None
    assert modern.read("gone://soon").error["data"] == {"uri": "gone://soon"}


def test_a_mirrored_uri_must_agree(modern: MCPClient) -> None:
    answer = modern.read("text://static", headers={"mcp-name": "orders://recent"})
    assert (answer.status, answer.error["code"]) == (400, -32020)
