"""The pages of a tool that is a viewset's action, and of one with a serializer."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from mcp_app.catalog.registry import default_server
from mcp_app.integrations import expose_viewset
from mcp_app.models import CallEvent
from project.quiz.models import Room
from tests.admin.words import words
from tests.integrations.orders import Order
from tests.integrations.rooms import RoomViewSet

pytestmark = pytest.mark.django_db(transaction=True)

OF_UPDATE = {"of": "default:tool:room_update"}


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    before = set(default_server.tools)
    expose_viewset(RoomViewSet, actions=["list", "update", "create"])

    @default_server.tool(input=Order, name="place_order")
    def place_order(data: Any) -> str:
        """Place an order."""
        return str(data["pin"])

    yield
    for name in set(default_server.tools) - before:
        default_server.remove(name)


def page(client: Client, name: str, asked: dict[str, str]) -> str:
    response = client.get(reverse(f"admin:mcp_app_catalogue_{name}"), asked)
    assert response.status_code == 200
    return words(response.content.decode())


def test_its_own_page_names_what_guards_it_and_what_it_takes(boss_client: Client) -> None:
    text = page(boss_client, "entry", OF_UPDATE)

    assert "RoomViewSet (Noted)" in text
    assert "PUT" in text
    assert "The id of the room." in text
    assert "Replace all fields of one room." in text
    order = page(boss_client, "entry", {"of": "default:tool:place_order"})
    assert "array of object" in order


def test_explain_says_what_its_view_says(
    boss_client: Client, ana: Any, django_user_model: Any
) -> None:
    django_user_model.objects.create_user("mallory")
    url = reverse("admin:mcp_app_catalogue_explain")

    passed = {
        name: boss_client.get(url, OF_UPDATE | {"user": name}).context["gates"]
        for name in ("ana", "mallory")
    }

    gates = {n: next(g for g in found if "RoomViewSet" in g.name) for n, found in passed.items()}
    assert gates["ana"].passed
    assert not gates["mallory"].passed
    assert "PUT" in gates["mallory"].why
    assert "permission to perform this action" in gates["mallory"].why


def test_who_may_call_it_is_who_its_view_admits(
    boss_client: Client, ana: Any, django_user_model: Any
) -> None:
    django_user_model.objects.create_user("mallory")
    url = reverse("admin:mcp_app_catalogue_callers")

    (row,) = boss_client.get(url, {"q": "room_update"}).context["rows"]

    assert {user.get_username(): may for user, may in row.cells} == {
        "ana": True,
        "boss": True,
        "mallory": False,
    }


def test_it_can_be_tried(boss_client: Client) -> None:
    url = f"{reverse('admin:mcp_app_catalogue_try')}?of=default:tool:room_create"
    names = [row.name for row in boss_client.get(url).context["form"].rows]
    new = {"invite_code": "ABC123", "name": "one", "topic": '"capitals"', "difficulty": '"easy"'}

    tried = boss_client.post(url, {f"p{names.index(name)}": v for name, v in new.items()})

    assert tried.context["tried"].result["structuredContent"]["players"] == "0 for boss in create"
    assert Room.objects.get().name == "one"
    assert CallEvent.objects.get(tool="room_create").source == "admin"


def test_a_secret_of_a_serializer_is_entered_as_one(boss_client: Client) -> None:
    url = f"{reverse('admin:mcp_app_catalogue_try')}?of=default:tool:place_order"

    form = boss_client.get(url).context["form"]

    field = dict(zip((row.name for row in form.rows), form, strict=True))["pin"]
    assert 'type="password"' in str(field)
