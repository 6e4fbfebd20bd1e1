"""Rows that were looked up for several requests at once are each request's own, and fresh."""

from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection
from django.http import HttpRequest
from django.test.utils import CaptureQueriesContext
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from mcp_app.auth import presented
from mcp_app.auth.authentication import TokenAuthentication
from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import issue, revoke
from mcp_app.models import Token

pytestmark = pytest.mark.django_db


@pytest.fixture
def issued(ana: Any) -> tuple[Token, Secret]:
    """A token that is good now."""
    return issue(user=ana, name="laptop")


def _request(authorization: str) -> HttpRequest:
    request = HttpRequest()
    request.META["HTTP_AUTHORIZATION"] = authorization
    return request


def _looked_up(authorizations: list[str]) -> list[HttpRequest]:
    requests = [_request(authorization) for authorization in authorizations]
    found = [presented.presented_by(authorization) for authorization in authorizations]
    for one, request in zip(found, requests, strict=True):
        presented.attach(one, request)
    presented.look_up([one for one in found if one is not None])
    return requests


def _authenticated(request: HttpRequest) -> Token:
    pair = TokenAuthentication().authenticate(Request(request))
    assert pair is not None
    return pair[1]


def test_many_requests_cost_one_query_and_share_no_object(issued: tuple[Token, Secret]) -> None:
    token, secret = issued
    good = f"Bearer {secret.reveal()}"
    _authenticated(_request(good))
    with CaptureQueriesContext(connection) as queries:
        requests = _looked_up([good] * 5)
        tokens = [_authenticated(request) for request in requests]
    assert len(queries) == 1
    assert [found.pk for found in tokens] == [token.pk] * 5
    assert len({id(found) for found in tokens}) == 5
    assert len({id(found.user) for found in tokens}) == 5


def test_a_row_is_taken_once(issued: tuple[Token, Secret]) -> None:
    token, secret = issued
    (request,) = _looked_up([f"Bearer {secret.reveal()}"])
    assert _authenticated(request).pk == token.pk
    revoke(token)
    with pytest.raises(AuthenticationFailed):
        _authenticated(request)


def test_a_row_that_was_read_a_while_ago_is_read_again(issued: tuple[Token, Secret]) -> None:
    token, secret = issued
    (request,) = _looked_up([f"Bearer {secret.reveal()}"])
    revoke(token)
    later = presented.time.monotonic() + 0.06
    with (
        patch.object(presented.time, "monotonic", return_value=later),
        pytest.raises(AuthenticationFailed),
    ):
        _authenticated(request)


def test_a_row_proves_nothing_without_its_secret(issued: tuple[Token, Secret]) -> None:
    _, other = issue(user=issued[0].user, name="other")
    text = other.reveal()
    forged = issued[1].reveal()[:17] + text[17:]
    (request,) = _looked_up([f"Bearer {forged}"])
    with pytest.raises(AuthenticationFailed):
        _authenticated(request)


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Basic abc", "Bearer eyJhbGciOi.x.y", "Bearer mcp_short", "mcp_"],
)
def test_what_is_no_secret_of_ours_is_not_looked_up(authorization: str) -> None:
    assert presented.presented_by(authorization) is None
