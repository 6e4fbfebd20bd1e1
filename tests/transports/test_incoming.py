"""A request that nobody asks for is not made, and one that is holds the body."""

from typing import Any

import pytest
from django.http import HttpRequest

from mcp_app.transports.incoming import Incoming


class Maker:
    """Makes requests, and counts them."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> HttpRequest:
        self.made += 1
        return HttpRequest()


def _incoming(maker: Maker, headers: dict[str, str] | None = None, **options: Any) -> Incoming:
    known = {"remote": "192.0.2.1", "transport": "asgi", "streams": True, **options}
    return Incoming("POST", headers or {}, again=maker, **known)


@pytest.mark.parametrize("is_asked_before", [True, False])
def test_a_request_is_made_once_and_has_the_body(is_asked_before: bool) -> None:
    maker = Maker()
    incoming = _incoming(maker)
    if is_asked_before:
        assert incoming.request.META == {}
    incoming.hold(b"{}")
    assert maker.made == is_asked_before
    request = incoming.request
    assert (request.body, request.META["CONTENT_LENGTH"]) == (b"{}", "2")
    assert incoming.request is request
    assert maker.made == 1


def test_a_request_that_there_is_already_is_not_made_again() -> None:
    maker, request = Maker(), HttpRequest()
    incoming = _incoming(maker, request=request)
    incoming.hold(b"[]")
    assert incoming.request is request
    assert request.body == b"[]"
    assert maker.made == 0


def test_the_address_counts_proxies_without_a_request(settings: Any) -> None:
    maker = Maker()
    incoming = _incoming(maker, {"x-forwarded-for": "198.51.100.7, 203.0.113.9"})
    assert incoming.address == "192.0.2.1"
    settings.MCP_APP = {"NUM_PROXIES": 1}
    assert incoming.address == "203.0.113.9"
    assert _incoming(maker, remote=None).address is None
    assert maker.made == 0


def test_a_request_made_once_more_has_the_body_too() -> None:
    maker = Maker()
    incoming = _incoming(maker)
    incoming.hold(b"{}")
    again = incoming.again()
    assert again is not incoming.request
    assert (again.body, again.META["CONTENT_LENGTH"]) == (b"{}", "2")


def test_a_request_that_left_its_session_has_none_when_it_is_made_once_more() -> None:
    def made() -> HttpRequest:
        request = HttpRequest()
        request.META["HTTP_COOKIE"] = "a=b"
        request.COOKIES["a"] = "b"
        return request

    incoming = Incoming(
        "POST", {"cookie": "a=b"}, remote=None, transport="asgi", streams=True, again=made
    )
    assert incoming.request.COOKIES == {"a": "b"}
    incoming.leave_session()
    for request in (incoming.request, incoming.again()):
        assert (request.COOKIES, request.headers) == ({}, {})
