"""What a tool raises: the model reads what is meant for it, the log the rest (D-060, 061)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any

import pytest
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, ValidationError
from django.db import IntegrityError, OperationalError, transaction
from django.http import Http404
from pydantic import Field
from rest_framework import exceptions as drf

from mcp_app import Progress, ToolError
from mcp_app.models import CallEvent
from mcp_app.testing import MCPClient
from tests.interaction.conftest import MakeClient

SECRET = "postgres://shop:hunter2@db/shop"


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError(SECRET)


class UnprintableToolError(ToolError):
    def __str__(self) -> str:
        raise RuntimeError(SECRET)


class UnprintableNotFound(Http404):
    def __str__(self) -> str:
        raise SystemExit(SECRET)


class Bare(BaseException):
    """An exception that `except Exception` does not catch."""


def recurse() -> None:
    recurse()


UNEXPECTED: list[Any] = [
    OperationalError(f"could not connect to {SECRET}"),
    KeyError(SECRET),
    RuntimeError(SECRET),
    StopIteration(SECRET),
    StopAsyncIteration(SECRET),
    TimeoutError(SECRET),
    MemoryError(SECRET),
    SystemExit(SECRET),
    KeyboardInterrupt(SECRET),
    GeneratorExit(SECRET),
    asyncio.CancelledError(SECRET),
    Bare(SECRET),
    BaseExceptionGroup("several", [SystemExit(SECRET)]),
    Unprintable(),
    UnprintableToolError(),
    UnprintableNotFound(),
]


def sync_tool(error: BaseException) -> Callable[..., Any]:
    def fail() -> str:
        raise error

    return fail


def async_tool(error: BaseException) -> Callable[..., Any]:
    async def fail() -> str:
        await asyncio.sleep(0)
        raise error

    return fail


def generator_tool(error: BaseException) -> Callable[..., Any]:
    def fail() -> Iterator[Progress | str]:
        yield Progress(1)
        raise error

    return fail


def async_generator_tool(error: BaseException) -> Callable[..., Any]:
    async def fail() -> AsyncIterator[Progress | str]:
        yield Progress(1)
        raise error

    return fail


def lazy_tool(error: BaseException) -> Callable[..., Any]:
    """The tool itself returns well: its result raises once it is read."""

    def rows() -> Iterator[int]:
        yield 1
        raise error

    def fail() -> Any:
        return rows()

    return fail


TOOLS = [sync_tool, async_tool, generator_tool, async_generator_tool, lazy_tool]


@pytest.mark.parametrize("make", TOOLS)
def test_an_unexpected_exception_is_a_generic_sentence_with_a_correlation_id(
    modern: MCPClient,
    serve: Callable[..., str],
    caplog: pytest.LogCaptureFixture,
    make: Callable[..., Any],
) -> None:
    for number, error in enumerate(UNEXPECTED):
        name = serve(make(error), read_only=True, name=f"fail_{number}")
        answer = modern.call(name)
        event = CallEvent.objects.get(tool=name)
        assert answer.status == 200
        assert answer.is_error
        assert answer.text == f"The tool failed. Correlation id: {event.correlation_id}", error
        assert b"hunter2" not in answer.body
        assert event.outcome == "failed"
        assert event.error_class in (type(error).__name__, "RuntimeError")
        assert "hunter2" not in event.error_text
        assert event.duration_ms is not None
        assert event.correlation_id in caplog.text
    # The server goes on.
    assert modern.call("add", {"a": 1}).text == '{"total":2}'


def test_debug_tells_no_more(modern: MCPClient, serve: Callable[..., str], settings: Any) -> None:
    settings.DEBUG = True
    answer = modern.call(serve(sync_tool(RuntimeError(SECRET))))
    assert answer.text.startswith("The tool failed. Correlation id: ")
    assert b"hunter2" not in answer.body
    assert b"Traceback" not in answer.body


def test_the_traceback_is_in_the_log_alone(
    modern: MCPClient, serve: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    def fail_somewhere_deep() -> str:
        recurse()
        return ""

    answer = modern.call(serve(fail_somewhere_deep))
    assert answer.is_error
    assert "RecursionError" not in answer.text
    assert "fail_somewhere_deep" in caplog.text
    assert CallEvent.objects.get(tool="fail_somewhere_deep").error_class == "RecursionError"


SPEAKING = [
    (ToolError("Stock is empty"), "Stock is empty"),
    (ToolError("Nul \0, surrogate \ud800 and é"), "Nul \0, surrogate \ud800 and é"),
    (ValidationError("Too late"), "Too late"),
    (ValidationError({"day": ["Too late"], "__all__": ["Closed"]}), "day: Too late; Closed"),
    (Http404("No such order"), "No such order"),
    (Http404(), "Not found."),
    (ObjectDoesNotExist(SECRET), "Not found."),
    (PermissionDenied("Not yours"), "Not yours"),
    (PermissionDenied(), "You may not do this."),
    (drf.ValidationError({"lines": [{"amount": ["Too many"]}]}), "lines.0.amount: Too many"),
    (drf.NotFound("Gone"), "Gone"),
    (drf.Throttled(wait=3), "Request was throttled. Expected available in 3 seconds."),
]


@pytest.mark.parametrize("make", [sync_tool, async_tool, generator_tool, async_generator_tool])
def test_what_is_meant_for_the_model_reaches_it_word_for_word(
    modern: MCPClient,
    serve: Callable[..., str],
    make: Callable[..., Any],
) -> None:
    for number, (error, text) in enumerate(SPEAKING):
        name = serve(make(error), read_only=True, name=f"refuse_{number}")
        answer = modern.call(name)
        assert answer.status == 200
        assert answer.is_error
        assert answer.text == text
        event = CallEvent.objects.get(tool=name)
        assert (event.outcome, event.error_class) == ("error", type(error).__name__)


def limited(count: Annotated[int, Field(ge=1, le=5)], secret: str = "") -> int:
    """Take a small number."""
    return count


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "count"),
        ({"count": "many"}, "count"),
        ({"count": 99}, "count"),
        ({"count": 1, "colour": "red"}, "colour"),
        ({"count": 1, "secret": {"a": "hunter2"}}, "secret"),
    ],
)
def test_arguments_that_do_not_fit_are_a_result_that_names_the_field(
    mcp: MCPClient, serve: Callable[..., str], arguments: dict[str, Any], field: str
) -> None:
    serve(limited, sensitive=["secret"])
    answer = mcp.call("limited", arguments)
    assert answer.status == 200
    assert answer.is_error
    assert field in answer.text
    assert "hunter2" not in answer.text
    event = CallEvent.objects.get(tool="limited")
    assert (event.outcome, event.decision) == ("invalid", "allow")
    assert field in event.error_text
    assert "hunter2" not in str(event.arguments)


@pytest.mark.parametrize(
    "params", [{"name": "nowhere"}, {"name": ""}, {"name": 5}, {"name": "add", "arguments": [1]}]
)
def test_what_the_client_got_wrong_is_a_protocol_error(
    mcp: MCPClient, params: dict[str, Any]
) -> None:
    answer = mcp.request("tools/call", params)
    assert answer.error["code"] == -32602
    assert CallEvent.objects.exclude(outcome="ok").get().outcome in ("unknown", "refused")


def test_a_broken_transaction_is_rolled_back_and_recorded(
    make_client: MakeClient, serve: Callable[..., str], django_user_model: Any
) -> None:
    """An IntegrityError leaves a connection that refuses queries until the rollback."""

    def twice() -> str:
        django_user_model.objects.create(username="once")
        django_user_model.objects.create(username="once")
        return "unreachable"

    client = make_client()
    answer = client.call(serve(twice, atomic=True))
    assert answer.text.startswith("The tool failed")
    assert not django_user_model.objects.filter(username="once").exists()
    event = CallEvent.objects.get(tool="twice")
    assert (event.outcome, event.error_class) == ("failed", "IntegrityError")
    assert client.call("count_users").text == "1"


def test_a_tool_may_recover_from_an_integrity_error_within_a_savepoint(
    make_client: MakeClient, serve: Callable[..., str], django_user_model: Any
) -> None:
    def recover() -> str:
        django_user_model.objects.create(username="once")
        try:
            with transaction.atomic():
                django_user_model.objects.create(username="once")
        except IntegrityError:
            return "there already"
        return "unreachable"

    assert make_client().call(serve(recover, atomic=True)).text == "there already"
    assert django_user_model.objects.filter(username="once").exists()


@pytest.mark.parametrize("broken", ["query", "row"])
def test_a_result_that_fails_while_it_is_read_leaves_nothing_written(
    make_client: MakeClient, serve: Callable[..., str], django_user_model: Any, broken: str
) -> None:
    """A lazy queryset runs its query when the answer is written, and its tool has failed then."""

    def write_then_read() -> Any:
        django_user_model.objects.create(username="written")
        users = django_user_model.objects
        return users.extra(where=["no_such_column = 1"]) if broken == "query" else users.all()

    answer = make_client().call(serve(write_then_read, atomic=True))
    assert answer.is_error
    assert "no_such_column" not in answer.text
    assert CallEvent.objects.get(tool="write_then_read").outcome == "failed"
    assert not django_user_model.objects.filter(username="written").exists()
