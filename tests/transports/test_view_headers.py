"""The view reads headers as Django does."""

from typing import Any

import pytest
from django.http.request import HttpHeaders

from mcp_app.transports.view import headers_of

METAS: list[dict[str, Any]] = [
    {},
    {"HTTP_HOST": "a", "HTTP_MCP_SESSION_ID": "b", "HTTP_X_FORWARDED_FOR": "1, 2"},
    {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": "2", "CONTENT_LANGUAGE": "de"},
    {"CONTENT_LENGTH": "", "HTTP_CONTENT_TYPE": "text/plain", "HTTP_": "nothing"},
    {"REMOTE_ADDR": "192.0.2.1", "wsgi.input": object(), "http_lower": "x", "HTTPS": "on"},
    {"HTTP_CONTENT_TYPE": "text/plain", "CONTENT_TYPE": "application/json"},
    {"CONTENT_TYPE": "application/json", "HTTP_CONTENT_TYPE": "text/plain"},
]


@pytest.mark.parametrize("meta", METAS)
def test_headers_are_those_of_the_request(meta: dict[str, Any]) -> None:
    of_django = {name.lower(): value for name, value in HttpHeaders(meta).items()}
    assert headers_of(meta) == of_django
