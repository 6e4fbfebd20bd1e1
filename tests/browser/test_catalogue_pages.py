"""The catalogue and the pages about access, looked at: nothing serious, no console error."""

import pytest

from tests.browser.site import Site

pytestmark = pytest.mark.browser

CATALOGUE = "/admin/mcp_app/catalogue/"

PEOPLE = """
from django.contrib.auth import get_user_model
for n in range(12):
    get_user_model().objects.get_or_create(username=f"worker{n}", is_staff=n % 2, is_active=n > 0)
"""
"""Users beside the example's own; one of them is not let in."""

NARROW = """
from django.contrib.auth import get_user_model
from mcp_app.auth.tokens import issue
token, _ = issue(user=get_user_model().objects.get(username="worker1"), name="narrow", tools=[])
print(token.secrets.get().lookup)
"""
"""A token that may call nothing; prints what names it."""


def test_the_catalogue_is_fit_to_look_at(site: Site) -> None:
    site.manage("mcp_switch", "off", "recent_matches", "--reason", "The archive moves house.")
    site.manage("shell", "--no-imports", "-c", PEOPLE)
    narrow = site.manage("shell", "--no-imports", "-c", NARROW).strip()
    wrong = site.look(
        {
            "catalogue": CATALOGUE,
            "entry": f"{CATALOGUE}entry/?of=default:tool:recent_matches",
            "explain": f"{CATALOGUE}explain/?of=default:tool:recent_matches&user=admin",
            "explain-shut": f"{CATALOGUE}explain/?of=default:tool:close_room&user=worker2",
            "callers": f"{CATALOGUE}callers/",
            "view-as": f"{CATALOGUE}view-as/?user=worker1",
            "view-as-nothing": f"{CATALOGUE}view-as/?user=worker1&token={narrow}",
        }
    )
    site.manage("mcp_switch", "on", "recent_matches")
    assert wrong == [], "\n".join(wrong)


def test_tools_are_tried_by_the_keyboard(site: Site) -> None:
    found = site.run("try.mjs", shots=str(site.shots))
    assert found["wrong"] == [], "\n".join(found["wrong"])
    for result, declined in zip(found["read"][::2], found["read"][1::2], strict=True):
        assert '"rooms": [' in result
        assert "the user declined" in declined
