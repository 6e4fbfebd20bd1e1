"""The pages about calls, looked at: nothing serious, no console error, no page too wide."""

import json

import pytest

from tests.browser.site import Site

pytestmark = pytest.mark.browser

CALLS = "/admin/mcp_app/callevent/"
PERIODS = ("day", "week", "month")


def test_the_pages_about_calls_are_fit_to_look_at(site: Site) -> None:
    empty = {"overview-empty": f"{CALLS}overview/", "calls-empty": CALLS}
    wrong = site.look(empty)
    keys = json.loads(
        site.manage("shell", "--no-imports", "-c", "from tests.browser.calls import make; make()")
    )
    wrong += site.look(
        {
            "index": "/admin/mcp_app/",
            "calls": CALLS,
            "calls-filtered": f"{CALLS}?result=failed&since=2000-01-01&client=Cursor&min_ms=5",
            "calls-none": f"{CALLS}?user=nobody",
            **{f"overview-{period}": f"{CALLS}overview/?for={period}" for period in PERIODS},
            **{f"story-{name}": f"{CALLS}{key}/change/" for name, key in keys.items()},
        }
    )
    assert wrong == [], "\n".join(wrong)
    found = site.run("find.mjs")
    assert found["errors"] == []
    assert found["found"] >= 1
    assert "OperationalError" in found["story"]
