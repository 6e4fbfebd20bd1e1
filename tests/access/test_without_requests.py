"""DRF's own permission classes say without a request what they say of one."""

from itertools import product
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser, Permission
from django.http import HttpRequest
from rest_framework.permissions import BasePermission, DjangoModelPermissions, IsAuthenticated

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
