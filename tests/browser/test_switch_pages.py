"""The pages of switches, looked at: nothing serious, no console error, no page too wide."""

import pytest

from tests.browser.site import Site

pytestmark = pytest.mark.browser

SWITCHES = "/admin/mcp_app/switch/"


def test_the_pages_of_switches_are_fit_to_look_at(site: Site) -> None:
    wrong = site.look({"switches-empty": SWITCHES})
    site.manage("mcp_switch", "maintenance", "--reason", "Moving house.", "--until", "2h")
    site.manage("mcp_switch", "maintenance", "--end")
    site.manage("mcp_switch", "read-only", "--reason", "<script>alert(1)</script> " + "long " * 40)
    newest = "from mcp_app.models import Switch; print(Switch.objects.latest('pk').pk)"
    key = site.manage("shell", "--no-imports", "-c", newest).strip()
    pages = {"switch-add": f"{SWITCHES}add/"}
    pages["switch-off"] = f"{SWITCHES}add/?kind=off&of=default:tool:announce"
    pages |= {
        "switch-over": f"{SWITCHES}{int(key) - 1}/change/",
        "switch-one": f"{SWITCHES}{key}/change/",
    }
    pages["switch-lift"] = f"{SWITCHES}{key}/lift/"
    wrong += site.look({"switches": SWITCHES, **pages})
    site.manage("mcp_switch", "read-only", "--end")
    assert wrong == [], "\n".join(wrong)


def test_a_switch_is_set_past_the_page_that_says_who_is_affected(site: Site) -> None:
    seen = site.run("switch.mjs", add=f"{SWITCHES}add/", shots=str(site.shots))
    site.manage("mcp_switch", "on", "announce")
    assert seen["errors"] == []
    assert seen["unfit"] == []
    assert seen["wide"] == 0
    assert "Who is affected" in seen["asked"]
    assert "was added successfully" in seen["told"]
