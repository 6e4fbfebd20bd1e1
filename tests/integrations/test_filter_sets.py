"""A list's filters, where a product filters by django-filter."""

from typing import Any, ClassVar

import pytest
from django.contrib.auth import get_user_model
from django_filters import rest_framework as drf

from project.quiz.models import Room
from tests.integrations.orders import call
from tests.integrations.rooms import RoomViewSet, exposed
from tests.integrations.test_viewsets import room

pytestmark = pytest.mark.django_db


class RoomFilter(drf.FilterSet):  # type: ignore[misc]
    """By what a room says."""

    created = drf.DateFromToRangeFilter(field_name="created_at")
    is_closed = drf.BooleanFilter(field_name="closed_at", lookup_expr="isnull", exclude=True)

    class Meta:
        model = Room
        fields: ClassVar = {"name": ["exact", "icontains"], "max_players": ["gte"], "topic": ["in"]}


class Filtered(RoomViewSet):
    filter_backends: ClassVar = [drf.DjangoFilterBackend]
    filterset_class = RoomFilter
    throttle_classes: ClassVar = []


def test_its_filters_are_arguments() -> None:
    server = exposed(Filtered, ["list"])
    assert not server.problems, server.problems
    tool: Any = server.tools["room_list"]
    room(1, max_players=3)
    room(2, max_players=9)
    user = get_user_model().objects.create_user("ada")

    assert set(tool.arguments.schema["properties"]) == {
        *("name", "name__icontains", "max_players__gte", "topic__in"),
        *("created_after", "created_before", "is_closed", "page", "size"),
    }
    found = call(tool, {"max_players__gte": 5, "is_closed": False, "size": 1}, user)
    assert [each["name"] for each in found["results"]] == ["room 2"]
