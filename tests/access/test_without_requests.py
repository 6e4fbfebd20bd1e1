"""DRF's own permission classes say without a request what they say of one."""

from collections.abc import Callable
from copy import copy
from itertools import product
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser, Permission
from django.http import HttpRequest
from rest_framework.permissions import BasePermission, DjangoModelPermissions, IsAuthenticated
from rest_framework.views import APIView

from mcp_app.access.checks import CallerAccess
from mcp_app.access.permissions import OF_CALLERS, OF_VIEWS
from mcp_app.access.view import DeclaredRequest, DeclaredView, method_of
from mcp_app.catalog.definition import Tool
from mcp_app.catalog.registry import MCPServer
from mcp_app.dispatch.context import Caller

pytestmark = pytest.mark.django_db
HINTS: tuple[dict[str, bool], ...] = ({"read_only": True}, {}, {"destructive": True})


def _no_request() -> HttpRequest:
    raise AssertionError("a request was made")


def _tool(*classes: Any, **hints: Any) -> Tool:
    server = MCPServer("without requests")
    users = get_user_model().objects.all()
    server.tool(permission_classes=list(classes), queryset=users, **hints)(look)
    return server.tools["look"]


def look() -> str:
    """Look."""
    return "seen"


def _users() -> list[Any]:
    make = get_user_model().objects.create_user
    adder = make("adder")
    adder.user_permissions.add(Permission.objects.get(codename="add_user"))
    return [
        AnonymousUser(),
        make("plain"),
        make("staff", is_staff=True),
        make("gone", is_active=False),
        get_user_model().objects.get(pk=adder.pk),
        get_user_model().objects.create_superuser("root"),
    ]


def _says(cls: type[Any], tool: Tool, caller: Caller) -> bool:
    """What the class says of DRF's own request."""
    request = DeclaredRequest(HttpRequest(), caller, method_of(tool))
    view: Any = DeclaredView(tool, request)
    return bool(cls().has_permission(request, view))


@pytest.mark.parametrize("cls", sorted(OF_CALLERS | OF_VIEWS, key=lambda cls: cls.__name__))
def test_classes_that_ask_for_no_request_say_the_same(cls: Any) -> None:
    said = set()
    for user, hints in product(_users(), HINTS):
        tool, caller = _tool(cls, **hints), Caller(user)
        access = CallerAccess(caller, _no_request, MCPServer("of nobody"))
        expected = _says(cls, tool, caller)
        assert access.permits(tool) is expected
        said.add(expected)
    assert True in said


def test_every_one_of_several_classes_is_asked() -> None:
    tool = _tool(*OF_CALLERS)
    _, plain, staff, *_ = _users()
    for user, expected in ((plain, False), (staff, True)):
        access = CallerAccess(Caller(user), _no_request, MCPServer("of nobody"))
        assert access.permits(tool) is expected


def test_what_looks_at_the_tool_is_asked_for_each_of_them() -> None:
    """Also where it is derived from a class that would not."""
    asked = []

    class Named(IsAuthenticated):
        def has_permission(self, request: Any, view: Any) -> bool:
            asked.append((view.tool.read_only, type(request)))
            return bool(view.tool.read_only)

    reading, writing = _tool(Named, read_only=True), _tool(Named)
    access = CallerAccess(Caller(_users()[1]), HttpRequest, MCPServer("of nobody"))
    assert access.permitted([reading, writing]) == [reading]
    assert (access.permits(reading), access.permits(writing)) == (True, False)
    assert asked == [(True, DeclaredRequest), (False, DeclaredRequest)]


def _admitted_to_four(cls: Any) -> list[str]:
    """Those of two tools that read, `a` and `b`, and two that write, to which it admits a user."""
    server = MCPServer("of four")
    for name in ("a", "b", "c", "d"):
        server.tool(name=name, read_only=name < "c", permission_classes=[cls])(look)
    access = CallerAccess(Caller(_users()[1]), HttpRequest, server)
    return [tool.name for tool in access.permitted(server.tools.values())]


def test_what_looks_at_no_tool_is_asked_once_for_all_of_the_same_hints() -> None:
    asked: list[str] = []

    class Reading(BasePermission):
        def has_permission(self, request: Any, view: Any) -> bool:
            asked.append(request.method)
            return bool(request.method == "GET")

    assert _admitted_to_four(Reading) == ["a", "b"]
    assert asked == ["GET", "POST"]


@pytest.mark.parametrize(
    "look_at",
    [
        pytest.param(lambda view: view.tool.name, id="an attribute"),
        pytest.param(lambda view: getattr(view, "nothing", view), id="one that it lacks"),
        pytest.param(lambda view: vars(view)["action"], id="all of them"),
        pytest.param(lambda view: isinstance(view, APIView), id="its kind"),
        pytest.param(copy, id="a copy"),
    ],
)
def test_whoever_looks_at_one_tool_in_any_way_is_asked_for_the_next(
    look_at: Callable[[Any], Any],
) -> None:
    asked: list[Any] = []

    class Looking(BasePermission):
        def has_permission(self, request: Any, view: Any) -> bool:
            asked.append(look_at(view))
            return bool(view is not None)

    assert _admitted_to_four(Looking) == ["a", "b", "c", "d"]
    assert len(asked) == 4


def test_one_that_looks_only_now_and_then_is_asked_until_it_has_not_looked() -> None:
    """What it said without a look is what it says to this caller of any tool."""

    class OfThose(BasePermission):
        def has_permission(self, request: Any, view: Any) -> bool:
            return request.method == "GET" or bool(view.tool.name == "d")

    assert _admitted_to_four(OfThose) == ["a", "b", "d"]


def test_one_that_breaks_without_a_look_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(BasePermission):
        def has_permission(self, request: Any, view: Any) -> bool:
            raise RuntimeError("away")

    assert _admitted_to_four(Broken) == []
    assert len(caplog.records) == 4


def test_of_one_that_cannot_be_told_from_others_nothing_is_remembered() -> None:
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self) -> Any:
            asked.append(self)
            return IsAuthenticated()

    asked: list[Any] = []
    assert _admitted_to_four(Unhashable()) == ["a", "b", "c", "d"]
    assert len(asked) == 4


def test_the_next_request_is_asked_anew() -> None:
    class Flagged(BasePermission):
        def has_permission(self, request: Any, view: Any) -> bool:
            return bool(request.user.is_staff)

    user, tool = _users()[1], _tool(Flagged)
    assert not CallerAccess(Caller(user), HttpRequest, MCPServer("of nobody")).permits(tool)
    user.is_staff = True
    assert CallerAccess(Caller(user), HttpRequest, MCPServer("of nobody")).permits(tool)


def test_composed_and_odd_classes_get_a_request() -> None:
    class Nobody(BasePermission):
        __hash__ = None  # type: ignore[assignment]

        def has_permission(self, request: Any, view: Any) -> bool:
            return False

    plain = Caller(_users()[1])
    for composed, expected in ((IsAuthenticated & ~Nobody, True), (Nobody | Nobody, False)):
        access = CallerAccess(plain, HttpRequest, MCPServer("of nobody"))
        assert access.permits(_tool(composed)) is expected


def test_the_same_of_all_tools_on_one_model_is_asked_once() -> None:
    """And of each model for itself."""
    classes = [DjangoModelPermissions]
    user = _users()[4]
    server = MCPServer("of two models")
    models: list[Any] = [get_user_model(), Permission]
    for number, model in enumerate(models * 3):
        server.tool(
            name=f"tool_{number}", permission_classes=classes, queryset=model.objects.all()
        )(look)
    access = CallerAccess(Caller(user), _no_request, MCPServer("of nobody"))
    asked: list[Any] = []
    has_perms = user.has_perms
    user.has_perms = lambda permissions: asked.append(permissions) or has_perms(permissions)
    found = access.permitted(server.tools.values())
    assert [tool.queryset.model for tool in found] == [get_user_model()] * 3
    assert len(asked) == 2
