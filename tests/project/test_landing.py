"""The example's own page."""

from django.test import Client


def test_the_landing_page_names_the_endpoint_and_the_admin(client: Client) -> None:
    response = client.get("/")

    assert response.status_code == 200
    assert b"http://testserver/mcp" in response.content
    assert b'href="/admin/"' in response.content


def test_the_landing_page_sets_no_cookie(client: Client) -> None:
    assert not client.get("/").cookies
