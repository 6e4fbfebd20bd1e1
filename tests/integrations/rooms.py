"""A viewset of the quiz's rooms, as a product with a REST API has one, and what it was asked."""

from typing import Any, ClassVar

from rest_framework import filters, pagination, permissions, serializers, throttling, viewsets
from rest_framework.decorators import action
from rest_framework.response import Response

from mcp_app import MCPServer
from mcp_app.integrations import expose_viewset
from project.quiz.models import Room

ASKED: list[str] = []
"""What the view's own classes were asked, in order."""


class Noted(permissions.IsAuthenticated):
    """Admits who is signed in and not called mallory; of rooms, all but closed ones."""

    def has_permission(self, request: Any, view: Any) -> bool:
        ASKED.append(f"has_permission {request.method} {view.action}")
        return super().has_permission(request, view) and request.user.username != "mallory"

    def has_object_permission(self, request: Any, view: Any, obj: Room) -> bool:
        ASKED.append(f"has_object_permission {obj.name}")
        return obj.status != "closed"


class Throttle(throttling.BaseThrottle):
    """Counts."""

    def allow_request(self, request: Any, view: Any) -> bool:
        ASKED.append("throttle")
        return request.user.username != "greedy"

    def wait(self) -> float:
        return 7.0


class RoomSerializer(serializers.ModelSerializer[Room]):
    """A room."""

    players = serializers.SerializerMethodField()

    class Meta:
        model = Room
        fields = ("id", "invite_code", "name", "topic", "difficulty", "status", "players")
        read_only_fields = ("status",)

    def get_players(self, room: Room) -> str:
        view = self.context["view"]
        return f"{room.players.count()} for {self.context['request'].user} in {view.action}"


class NameSerializer(serializers.Serializer[Room]):
    """A new name."""

    name = serializers.CharField(max_length=80)


class Pages(pagination.PageNumberPagination):
    """Two on a page."""

    page_size = 2
    page_size_query_param = "size"


class RoomViewSet(viewsets.ModelViewSet[Room]):
    """Rooms."""

    queryset = Room.objects.all()
    serializer_class = RoomSerializer
    permission_classes: ClassVar = [Noted]
    throttle_classes: ClassVar = [Throttle]
    pagination_class = Pages
    filter_backends: ClassVar = [filters.SearchFilter, filters.OrderingFilter]
    search_fields: ClassVar = ["name"]
    ordering_fields: ClassVar = ["name"]

    def get_queryset(self) -> Any:
        """None but hidden ones, of which only staff knows."""
        hidden = {} if self.request.user.is_staff else {"name__startswith": "hidden"}
        return super().get_queryset().exclude(**hidden) if hidden else super().get_queryset()

    @action(detail=True, methods=["post"])
    def close(self, request: Any, pk: str) -> Response:
        """Close a room."""
        room = self.get_object()
        if room.name == "busy":
            return Response({"detail": "It is being played."}, status=409)
        room.status = "closed"
        room.save()
        return Response({"closed": room.pk, "auth": str(request.auth), "kwarg": pk})

    @action(detail=True, methods=["post"], serializer_class=NameSerializer)
    def rename(self, request: Any, pk: str) -> Response:
        """Rename a room."""
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        Room.objects.filter(pk=self.get_object().pk).update(**serializer.validated_data)
        return Response(status=204)

    @action(detail=False)
    def count(self, request: Any) -> Response:
        """Count rooms."""
        return Response({"rooms": self.get_queryset().count()})

    @action(detail=False, methods=["get", "post"])
    def both(self, request: Any) -> Response:
        """Do two things."""
        return Response()


ACTIONS = ["list", "retrieve", "create", "update", "partial_update", "destroy"]
EXTRA = ["close", "rename", "count"]


def exposed(viewset: Any = RoomViewSet, actions: Any = (*ACTIONS, *EXTRA), **options: Any) -> Any:
    """A server with the tools of a viewset."""
    server = MCPServer("rooms of one test")
    expose_viewset(viewset, actions=actions, server=server, **options)
    return server
