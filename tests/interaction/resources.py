"""The resources and templates that the interaction tests read, on the tools' server."""

import asyncio
from collections.abc import AsyncIterator, Generator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404
from pydantic import Field
from rest_framework.permissions import SAFE_METHODS, AllowAny, BasePermission, IsAdminUser
from rest_framework.throttling import UserRateThrottle

from mcp_app import Context, NotFound, Progress, ResourceContents, ToolError
from tests.interaction.tools import server

PIXEL = b"\x89PNG\r\n\x1a\n\x00"
ICON = {"src": "https://example.com/icon.png", "mimeType": "image/png"}


@dataclass(frozen=True)
class Order:
    """An order."""

    number: int
    status: str


class Status(Enum):
    """How far an order is."""

    OPEN = "open"
    SHIPPED = "shipped"


class Reads(BasePermission):
    """Lets requests through that only read."""

    def has_permission(self, request, view):
        return request.method in SAFE_METHODS and view.tool is None


class TwoADay(UserRateThrottle):
    """Two a day."""

    rate = "2/day"
    scope = "two-a-day"


@server.resource(
    "text://static",
    mime_type="text/markdown",
    title="Static text",
    size=5,
    annotations={"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-02T03:04:05Z"},
    icons=[ICON],
    meta={"example.com/kind": "x"},
    ttl_ms=5000,
)
def static_text() -> str:
    """Some text."""
    return "hello"


@server.resource("bytes://pixel", mime_type="image/png")
async def pixel() -> bytes:
    """A picture."""
    return PIXEL


@server.resource("bytes://plain")
def plain_bytes() -> bytes:
    """Bytes of no declared type."""
    return b"\xff"


@server.resource("several://parts", mime_type="text/csv")
def parts() -> list[ResourceContents]:
    """A part of the declared type, and one of its own."""
    return [
        ResourceContents(text="a,b"),
        ResourceContents(
            blob=PIXEL, uri="several://parts/1", mime_type="image/png", meta={"example.com/n": 1}
        ),
    ]


@server.resource("orders://recent")
def recent_orders() -> list[Order]:
    """The newest orders."""
    return [Order(2, "open"), Order(1, "shipped")]


@server.resource("orders://{number}", complete={"number": ["1", "10", "2"]})
def order(number: Annotated[int, Field(ge=1)]) -> Order:
    """One order."""
    if number == 404:
        raise Http404("no such order: secret")
    return Order(number, "open")


@server.resource("orders://all{?status,page}")
def orders(status: Status = Status.OPEN, page: int = 1) -> dict[str, object]:
    """The orders of a status, page by page."""
    return {"status": status.value, "page": page}


@server.resource("files:///{+path}")
def file(path: str) -> str:
    """A file, by its path."""
    return path


@server.resource("files:///public/{name}")
def public_file(name: str) -> str:
    """A file of the public directory."""
    return f"public {name}"


@server.resource("staff://secret", permission_classes=[IsAdminUser])
def staff_secret() -> str:
    """For staff."""
    return "secret"


@server.resource(
    "staff://{name}", permission_classes=[IsAdminUser], complete={"name": ["secret-plan"]}
)
def staff_page(name: str) -> str:
    """For staff, too."""
    return name


@server.resource("rooms://{number}", scopes=["rooms:write"])
def room(number: int) -> str:
    """What a token must allow."""
    return str(number)


@server.resource("who://am-i", permission_classes=[Reads])
def who_am_i(ctx: Context) -> dict[str, object]:
    """Who the caller is."""
    return {"user": ctx.user.get_username(), "method": ctx.request.method}


@server.resource("open://page", permission_classes=[AllowAny], cache_scope="public", ttl_ms=60_000)
def open_page() -> str:
    """For anybody."""
    return "open"


@server.resource("rare://page", throttle_classes=[TwoADay])
def rare_page() -> str:
    """Twice a day."""
    return "rare"


@server.resource("steps://page")
def steps() -> Generator[Progress, None, str]:
    """Takes a while."""
    yield Progress(1, 2)
    yield Progress(2, 2)
    return "read"


@server.resource("asteps://page")
async def asteps() -> AsyncIterator[Progress | str]:
    """Takes a while on the loop."""
    yield Progress(1, 2)
    await asyncio.sleep(0)
    yield "read"


@server.resource("slow://page", timeout=0.2)
async def slow_page() -> str:
    """Never comes back."""
    await asyncio.sleep(3600)
    return "late"


@server.resource("fails://{how}")
def fails(how: str) -> object:
    """Fails in one of several ways."""
    failures: dict[str, Exception] = {
        "said": ToolError("The printer is out of paper"),
        "missing": NotFound("nothing"),
        "gone": get_user_model().DoesNotExist("row 17 of the secret table"),
        "denied": PermissionDenied("Not yours."),
        "invalid": ValidationError("Too long."),
        "unexpected": RuntimeError("database password is hunter2"),
    }
    if how in failures:
        raise failures[how]
    return object() if how == "unencodable" else None


@server.resource("vault://{key}", sensitive=["key"])
def by_key(key: str) -> str:
    """Named by a secret."""
    return "found"


@server.resource("large://{size}")
def large(size: int) -> str:
    """As large as one likes."""
    return "x" * size
