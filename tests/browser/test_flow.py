"""An administrator's day in one piece: each page leads to the next, and a real client notices."""

import csv
import io

import pytest

from tests.browser.site import Site

pytestmark = pytest.mark.browser

GRACE = 8
"""Seconds that the old secret has; the script walks three pages in them."""


def test_from_a_token_to_its_last_call(site: Site) -> None:
    seen = site.run("flow.mjs", grace=GRACE)
    site.manage("mcp_switch", "on", "list_rooms")
    assert seen["errors"] == []
    assert seen["issued"]

    assert "list_rooms" in seen["before"]
    assert "flow <b>agent</b>" in seen["arrived"]
    assert "OK" in seen["arrived"]

    assert "This token lacks a scope: rooms:write" in seen["denied"]
    assert "the token lacks a scope that is needed" in seen["story"]
    assert "the first gate that is shut is “scopes”" in seen["gates"]
    assert "the token lacks rooms:write" in seen["gates"]

    assert set(seen["before"]) - set(seen["after"]) == {"list_rooms"}

    assert "flow-agent 1" in seen["affected"]
    assert seen["inGrace"] == "answered"
    assert seen["renewed"] == len(seen["after"])
    assert "flow-agent 1" in seen["uses"]
    assert "Still tried" not in seen["uses"]
    assert "Invalid or expired token" in seen["refused"]
    assert "1 refused call since it ended" in seen["stillTried"]
    assert seen["stillWorks"] == "answered"

    calls = list(csv.DictReader(io.StringIO(seen["csv"])))
    assert [(call["tool"], call["outcome"]) for call in calls[:2]] == [
        ("list_rooms", "ok"),
        ("close_room", "denied"),
    ]
    assert {call["tool"] for call in calls[2:]} == {"server_health"}
    assert seen["leaked"] == 0
