"""Clients that we did not write list and call the example's tools on live servers."""

import re
from pathlib import Path

import pytest

from tests.interop.clients import PEERS, Call, Peer, python_sdk
from tests.interop.product import Product

pytestmark = pytest.mark.interop

READING_TOOLS = {
    "announcement_get",
    "announcement_list",
    "forwarding_status",
    "generate_daily_session",
    "generate_solo_questions",
    "get_match_diagnostics",
    "get_match_timeline",
    "get_room",
    "get_room_game_state",
    "incident_timeline",
    "leaderboard_countries",
    "list_rooms",
    "recent_matches",
    "replay_solo_ledger",
    "security_summary",
    "server_health",
    "server_stats",
}


@pytest.mark.parametrize("peer", PEERS)
def test_a_client_lists_the_tools_and_calls_one(
    product: Product, peer: Peer, tmp_path: Path
) -> None:
    call = Call(product.url, product.token, "list_rooms", {"limit": 2}, tmp_path)

    seen = peer.run(call, peer.mode)

    assert seen.version == peer.version
    assert "list_rooms" in seen.tools
    assert set(seen.tools) <= READING_TOOLS
    assert len(seen.result["structuredContent"]["rooms"]) == 2
    assert not seen.result.get("isError")


def test_the_call_of_a_client_stands_in_the_call_log(product: Product, tmp_path: Path) -> None:
    token = product.administrator.issue_token("sam", f"Log of {product.origin}")
    lookup = token.split("_")[1]

    python_sdk(Call(product.url, token, "get_room", {"invite_code": "NOSUCH"}, tmp_path), "auto")

    page = product.administrator.read(f"mcp_app/callevent/?q={lookup}")
    assert re.search(r"get_room.*sam", page, re.DOTALL)
    assert token not in page
    assert token not in product.administrator.read("mcp_app/token/")
