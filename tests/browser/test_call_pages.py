"""The pages about calls, looked at: nothing serious, no console error, no page too wide."""

import pytest

from tests.browser.site import Site

pytestmark = pytest.mark.browser


def test_the_pages_about_calls_are_fit_to_look_at(site: Site) -> None:
    wrong = site.look({"index": "/admin/mcp_app/", "calls": "/admin/mcp_app/callevent/"})
    assert wrong == [], "\n".join(wrong)
