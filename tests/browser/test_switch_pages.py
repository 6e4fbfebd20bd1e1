"""The list of switches, looked at: nothing serious, no console error, no page too wide."""

import pytest

from tests.browser.site import Site

pytestmark = pytest.mark.browser

SWITCHES = "/admin/mcp_app/switch/"


def test_the_list_of_switches_is_fit_to_look_at(site: Site) -> None:
    wrong = site.look({"switches-empty": SWITCHES})
    site.manage("mcp_switch", "maintenance", "--reason", "Moving house.", "--until", "2h")
    site.manage("mcp_switch", "maintenance", "--end")
    site.manage("mcp_switch", "read-only", "--reason", "<script>alert(1)</script> " + "long " * 40)
    wrong += site.look({"switches": SWITCHES})
    site.manage("mcp_switch", "read-only", "--end")
    assert wrong == [], "\n".join(wrong)
