"""The pages about tokens: looked at, and walked through by the keyboard alone."""

import json
import re

import pytest

from tests.browser.site import Site

pytestmark = pytest.mark.browser

TOKENS = "/admin/mcp_app/token/"
OWN = "/account/tokens/"


def test_the_pages_about_tokens_are_fit_to_look_at(site: Site) -> None:
    keys = json.loads(
        site.manage("shell", "--no-imports", "-c", "from tests.browser.tokens import make; make()")
    )
    used = f"{TOKENS}{keys['used']}"
    wrong = site.look(
        {
            "index": "/admin/",
            "tokens": TOKENS,
            "tokens-of-one": f"{TOKENS}?user=sam",
            "token-issue": f"{TOKENS}add/",
            "token-used": f"{used}/change/",
            "token-rotate": f"{used}/rotate/",
            "token-end-secret": f"{used}/secrets/{keys['leaked']}/end/",
            "token-ended": f"{TOKENS}{keys['ended']}/change/",
            "token-end-last": f"{TOKENS}{keys['client']}/secrets/{keys['last']}/end/",
            "token-delete": f"{used}/delete/",
            "token-revoked": f"{TOKENS}{keys['revoked']}/change/",
            "token-expired": f"{TOKENS}{keys['expired']}/change/",
            "own-tokens": OWN,
            "own-issue": f"{OWN}issue/",
            "own-rotate": f"{OWN}{keys['own']}/rotate/",
            "own-end-secret": f"{OWN}{keys['own']}/secrets/{keys['old']}/end/",
        }
    )
    assert wrong == [], "\n".join(wrong)


def test_a_token_lives_and_ends_by_the_keyboard_alone(site: Site) -> None:
    seen = site.run("tokens.mjs", tokens=TOKENS, shots=str(site.shots))
    assert seen["errors"] == []
    assert seen["wrong"] == [], "\n".join(seen["wrong"])
    issued = seen["issued"]
    assert re.fullmatch(r"mcp_\w{12}_\w{39}", issued["secret"])
    assert issued["copied"] == issued["secret"]
    assert "[mcp_servers.quiz-backoffice]" in issued["pasted"]
    assert issued["secret"] in issued["pasted"]
    assert issued["open"] == 1
    assert seen["named"] == "<script>alert(1)</script> by keyboard (sam)"
    assert "Nobody has ever used it." in seen["asked"]
    assert "After 1 hour, on " in seen["asked"]
    assert re.search(rf"mcp_{issued['secret'][4:16]}_…, works until", seen["rotated"])
    assert seen["second"] != issued["secret"]
    first, second = issued["secret"][4:16], seen["second"][4:16]
    assert re.search(rf"{second}.*with the token.*{first}.*ended", seen["ended"], re.DOTALL)
    assert f"Ended mcp_{first}_…." in seen["history"]
    assert "Rotated" in seen["history"]
    assert "This token is revoked" in seen["revoked"]


def test_a_pasted_secret_is_cut_before_it_is_sent(site: Site) -> None:
    secret = f"mcp_{'a' * 12}_{'b' * 39}"
    pages = [
        (TOKENS, "#searchbar"),
        ("/admin/mcp_app/callevent/", "#searchbar"),
        ("/admin/mcp_app/callevent/", "#mcp-filter-secret"),
        ("/admin/mcp_app/catalogue/explain/", "[name=user]"),
    ]
    seen = site.run("paste.mjs", pages=pages, secret=secret, shots=str(site.shots))
    assert [said for said in seen["said"] if "cut to its public prefix" not in said] == []
    assert len(seen["said"]) == len(pages)
    assert [address for address in seen["asked"] if "bbbb" in address] == []
    assert sum(f"mcp_{'a' * 12}" in address for address in seen["asked"]) >= len(pages)
    assert (seen["errors"], seen["unfit"], max(0, seen["wide"])) == ([], [], 0)
