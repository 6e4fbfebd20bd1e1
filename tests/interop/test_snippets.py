"""What the page that shows a secret offers for clients, copied from there and run as it stands."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interop.product import Product
from tests.peers.install import environment, install

pytestmark = [
    pytest.mark.interop,
    pytest.mark.parametrize("prepared", ["sqlite"], indirect=True),
    pytest.mark.parametrize("product", ["daphne"], indirect=True),
]

_LIMIT = 60  # seconds a client


def run(command: list[str], folder: Path) -> str:
    """What a client prints, in a folder of its own."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(install(), HOME=str(folder), PYTHONPATH=""),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_what_is_offered_to_paste_works_as_it_is_written(product: Product, tmp_path: Path) -> None:
    offered = product.administrator.issue_snippets("sam", "Snippets")
    (tmp_path / "client.py").write_text(offered["Python SDK"])
    (tmp_path / "client.mjs").write_text(offered["TypeScript SDK"])
    modules = install() / "node_modules"
    os.symlink(modules, tmp_path / "node_modules")

    python = run([sys.executable, "client.py"], tmp_path).split()
    typescript = run(["node", "client.mjs"], tmp_path).split()
    curl = json.loads(run(["sh", "-c", offered["curl"]], tmp_path))
    called = json.loads(run(["sh", "-c", offered["curl: tools/call"]], tmp_path))

    tools = sorted(tool["name"] for tool in curl["result"]["tools"])
    assert "list_rooms" in tools
    assert sorted(python) == tools
    assert sorted(typescript) == tools
    assert not called["result"].get("isError")
    assert "curl 1" in product.administrator.read("mcp_app/callevent/?client=curl")


def test_the_inspectors_line_opens_the_server(product: Product, tmp_path: Path) -> None:
    line = product.administrator.issue_snippets("sam", "Inspector")["MCP Inspector"]
    program = install() / "node_modules" / ".bin" / "mcp-inspector"
    # Its page needs a person; its command line takes the same flags.
    line = line.replace("npx @modelcontextprotocol/inspector", f"{program} --cli", 1)

    printed = run(["sh", "-c", f"{line} --format json --method tools/list"], tmp_path)

    assert "list_rooms" in {tool["name"] for tool in json.loads(printed)["result"]["tools"]}
