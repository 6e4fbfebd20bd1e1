"""The catalogue and the pages about access, looked at: nothing serious, no console error."""

import pytest

from tests.browser.site import Site

pytestmark = pytest.mark.browser

CATALOGUE = "/admin/mcp_app/catalogue/"


def test_the_catalogue_is_fit_to_look_at(site: Site) -> None:
    site.manage("mcp_switch", "off", "recent_matches", "--reason", "The archive moves house.")
    wrong = site.look(
        {
            "catalogue": CATALOGUE,
            "catalogue-none": f"{CATALOGUE}?q=nothing+like+it",
            "entry": f"{CATALOGUE}entry/?of=default:tool:close_room",
            "entry-off": f"{CATALOGUE}entry/?of=default:tool:recent_matches",
            "explain-empty": f"{CATALOGUE}explain/",
            "explain": f"{CATALOGUE}explain/?of=default:tool:recent_matches&user=admin",
            "explain-wrong": f"{CATALOGUE}explain/?of=default:tool:close_room&user=nobody",
        }
    )
    site.manage("mcp_switch", "on", "recent_matches")
    assert wrong == [], "\n".join(wrong)
