"""The live page: what happens shows by itself, once each, whatever becomes of the connection."""

import pytest

from tests.browser.site import Site

pytestmark = pytest.mark.browser

TAIL = "/admin/mcp_app/callevent/tail/"


def test_calls_show_as_they_happen_once_each_and_are_stopped(site: Site) -> None:
    # The page is to show these calls alone, whatever was looked at before.
    forget = "from mcp_app.models import CallEvent; CallEvent.objects.all().delete()"
    site.manage("shell", "--no-imports", "-c", forget)
    token = site.manage("mcp_token", "create", "admin", "--name=tail", "--plain").strip()
    seen = site.run("tail.mjs", tail=TAIL, token=token, shots=str(site.shots))
    assert seen["errors"] == []
    assert seen["unfit"] == []
    assert seen["arrived"] == 1
    assert "list_rooms" in seen["first"]
    assert "<script>alert(1)</script> 1" in seen["first"]
    assert seen["afterCut"] == 5
    assert seen["elsewhere"] == 6
    assert seen["whilePaused"] == 5
    assert seen["goneOn"] == 6
    assert seen["doubles"] == 0
    assert seen["newestFirst"]
    assert all("no_such_tool" in row for row in seen["filtered"])
    assert seen["filteredLater"] == len(seen["filtered"]) + 1
    assert seen["polled"] == 1
    assert "Process" in seen["asked"]
    assert "The call is stopped." in seen["stopped"]
    assert "stopped by admin" in seen["story"]
    assert "An administrator stopped the tool." in seen["answer"]


def test_the_live_page_and_its_acts_are_fit_to_look_at(site: Site) -> None:
    made = "from tests.browser.calls import begun; begun()"
    key = site.manage("shell", "--no-imports", "-c", made).strip()
    call = f"/admin/mcp_app/callevent/{key}"
    wrong = site.look({"live": TAIL, "story-started": f"{call}/change/", "stop": f"{call}/stop/"})
    assert wrong == [], "\n".join(wrong)
