"""The viewset's server at /mcp, beside two viewsets that do what is special."""

from typing import Any, ClassVar

from django.urls import include, path
from rest_framework import permissions
from rest_framework.decorators import action
from rest_framework.response import Response

from mcp_app import MCPServer
from mcp_app.integrations import expose_viewset
from mcp_app.urls import endpoint
from project.quiz.models import Room
from tests.integrations.rooms import ACTIONS, ASKED, EXTRA, RoomViewSet


class Peeking(RoomViewSet):
    """Writes where it should read."""

    @action(detail=True)
    def peek(self, request: Any, pk: str) -> Response:
        """Look at a room."""
        Room.objects.filter(pk=pk).update(name="seen")
        return Response({})


class Mine(permissions.BasePermission):
    """Looks at which room is meant, where one is."""

    def has_permission(self, request: Any, view: Any) -> bool:
        pk = view.kwargs.get("pk")
        ASKED.append(f"look {pk}")
        return pk is None or Room.objects.filter(pk=pk, name="mine").exists()


class OfMine(RoomViewSet):
    """Rooms that are mine."""

    permission_classes: ClassVar = [Mine]
    throttle_classes: ClassVar = []


server = MCPServer("rooms")
expose_viewset(RoomViewSet, actions=[*ACTIONS, *EXTRA], server=server)
expose_viewset(Peeking, actions=["peek"], server=server)
expose_viewset(OfMine, actions=["retrieve"], server=server, prefix="room_mine")
assert not server.problems, server.problems

urlpatterns = [path("mcp", include(endpoint(server)))]
