"""The catalogue and the pages about access, looked at: nothing serious, no console error."""

import pytest

from tests.browser.site import Site

pytestmark = pytest.mark.browser

CATALOGUE = "/admin/mcp_app/catalogue/"

PEOPLE = """
from django.contrib.auth import get_user_model
for n in range(25):
    get_user_model().objects.get_or_create(username=f"worker{n}", is_staff=n % 2, is_active=n > 0)
"""
"""Users beside the example's own; the first one is not let in."""


def test_the_catalogue_is_fit_to_look_at(site: Site) -> None:
    site.manage("mcp_switch", "off", "recent_matches", "--reason", "The archive moves house.")
    site.manage("shell", "--no-imports", "-c", PEOPLE)
    wrong = site.look(
        {
            "catalogue": CATALOGUE,
            "catalogue-none": f"{CATALOGUE}?q=nothing+like+it",
            "entry": f"{CATALOGUE}entry/?of=default:tool:close_room",
            "entry-off": f"{CATALOGUE}entry/?of=default:tool:recent_matches",
            "explain-empty": f"{CATALOGUE}explain/",
            "explain": f"{CATALOGUE}explain/?of=default:tool:recent_matches&user=admin",
            "callers": f"{CATALOGUE}callers/",
            "callers-none": f"{CATALOGUE}callers/?user=nobody",
            "view-as": f"{CATALOGUE}view-as/?user=admin",
            "view-as-nothing": f"{CATALOGUE}view-as/?user=worker0",
            "explain-wrong": f"{CATALOGUE}explain/?of=default:tool:close_room&user=nobody",
        }
    )
    site.manage("mcp_switch", "on", "recent_matches")
    assert wrong == [], "\n".join(wrong)
