"""The bearer header at DRF's door: one sentence for every refusal, the reason for the audit."""

import logging
from typing import Any

import pytest
from django.test import RequestFactory
from rest_framework.exceptions import AuthenticationFailed

from mcp_app.auth.authentication import BearerRefused, TokenAuthentication
from mcp_app.auth.hashing import Secret, generate
from mcp_app.auth.tokens import issue, revoke
from mcp_app.auth.verification import Invalid
from mcp_app.models import Token, TokenSecret

Issued = tuple[Token, Secret]


@pytest.fixture
def issued(ana: Any) -> Issued:
    return issue(user=ana, name="laptop")


def request_with(authorization: str | None = None, **meta: str) -> Any:
    header = {} if authorization is None else {"HTTP_AUTHORIZATION": authorization}
    return RequestFactory().post("/mcp", **header, **meta)


def authenticate(authorization: str | None = None, **meta: str) -> Any:
    return TokenAuthentication().authenticate(request_with(authorization, **meta))


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "Bearer  "])
def test_a_good_header_gives_user_and_token(scheme: str, issued: Issued, ana: Any) -> None:
    token, secret = issued
    user, auth = authenticate(f"{scheme} {secret.reveal()}")
    assert (user, auth) == (ana, token)
    assert auth.secret_used == token.secrets.get()


@pytest.mark.parametrize(
    "header",
    [
        *[None, "", "Basic YW5hOmFuYQ==", "Token abc", "Bearerabc", "Token mcp_x"],
        *["Bearer", "Bearer ", "Bearer a b", "Bearer é", "Bearer eyJh.eyJz.c2ln", "Bearer MCP_x"],
        "Bearer " + "a" * 9999,
    ],
)
def test_another_header_is_left_to_other_classes(header: str | None) -> None:
    assert authenticate(header) is None


@pytest.mark.parametrize(
    "header",
    ["Bearer mcp_", "Bearer mcp_x", "Bearer mcp_\0", "Bearer mcp_a b", "Bearer mcp_" + "a" * 9999],
)
def test_a_malformed_header_is_refused(header: str) -> None:
    with pytest.raises(BearerRefused) as refused:
        authenticate(header)
    assert refused.value.reason is Invalid.MALFORMED


def test_two_headers_joined_by_a_server_are_refused(issued: Issued) -> None:
    text = issued[1].reveal()
    with pytest.raises(BearerRefused):
        authenticate(f"Bearer {text},Bearer {text}")


def test_every_refusal_reads_the_same(issued: Issued, caplog: pytest.LogCaptureFixture) -> None:
    token, secret = issued
    text = secret.reveal()
    revoke(token)
    said = set()
    reasons = []
    headers = [text, generate().secret.reveal(), generate(text[4:16]).secret.reveal(), "mcp_junk"]
    with caplog.at_level(logging.INFO, "mcp_app.auth"):
        for value in headers:
            with pytest.raises(AuthenticationFailed) as refused:
                authenticate(f"Bearer {value}")
            said.add((str(refused.value.detail), refused.value.status_code))
            reasons.append(refused.value.reason)
    assert said == {("Invalid or expired token.", 401)}
    assert reasons == [Invalid.REVOKED, Invalid.UNKNOWN, Invalid.MISMATCH, Invalid.MALFORMED]
    for value in headers:
        assert value[17:] not in caplog.text or value == "mcp_junk"


def test_a_refusal_names_the_token_only_to_the_genuine(issued: Issued) -> None:
    token, secret = issued
    revoke(token)
    with pytest.raises(BearerRefused) as genuine:
        authenticate(f"Bearer {secret.reveal()}")
    with pytest.raises(BearerRefused) as forged:
        authenticate(f"Bearer {generate(secret.reveal()[4:16]).secret.reveal()}")
    assert (genuine.value.token, forged.value.token) == (token, None)
    assert genuine.value.token_lookup == forged.value.token_lookup


def test_the_challenge_names_an_error_only_where_a_token_was_sent(settings: Any) -> None:
    settings.MCP_APP = settings.MCP_APP | {"SERVER_NAME": 'qu"iz\r\nX: é'}
    challenge = TokenAuthentication().authenticate_header
    assert challenge(request_with()) == 'Bearer realm="quizX: "'
    assert challenge(request_with("Bearer x")) == 'Bearer realm="quizX: ", error="invalid_token"'


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        (0, "198.51.100.1", "192.0.2.1"),
        (1, "6.6.6.6, 198.51.100.1", "198.51.100.1"),
        (2, "6.6.6.6, 198.51.100.1, 198.51.100.2", "198.51.100.1"),
        (3, "198.51.100.1", "198.51.100.1"),
        (1, "", "192.0.2.1"),
    ],
)
def test_the_address_comes_from_as_many_proxies_as_are_configured(
    proxies: int, forwarded: str, expected: str, issued: Issued, settings: Any
) -> None:
    settings.MCP_APP = settings.MCP_APP | {"NUM_PROXIES": proxies}
    authenticate(
        f"Bearer {issued[1].reveal()}", REMOTE_ADDR="192.0.2.1", HTTP_X_FORWARDED_FOR=forwarded
    )
    assert TokenSecret.objects.get().last_used_ip == expected
