"""What a process loads before its first request, and how that is measured."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import footprint
from bench.processes import ROOT, printed
from mcp_app import integrations

NOT_TO_START = [
    *("mcp_app.admin", "mcp_app.account", "mcp_app.forms", "mcp_app.testing", "mcp_app.management"),
    *("mcp_app.integrations.viewsets", "mcp_app.integrations.models", "mcp_app.auth.snippets"),
    *("rest_framework.viewsets", "rest_framework.pagination"),
]
STARTED = """
import sys
sys.argv[1:] = ["mcp_app"]
import bench.servers.start
print(" ".join(sys.modules))
"""


def test_a_process_loads_what_it_needs_to_start_and_no_faces_that_nobody_asked_for() -> None:
    loaded = printed([sys.executable, "-c", STARTED], {}).split()

    assert "mcp_app.transports.door" in loaded
    assert [name for name in NOT_TO_START if name in loaded] == []


def test_what_makes_tools_of_a_product_is_there_under_its_public_names() -> None:
    assert all(getattr(integrations, name) is not None for name in integrations.__all__)
    with pytest.raises(AttributeError, match="no attribute 'ViewSets'"):
        integrations.ViewSets  # noqa: B018


def test_what_is_measured_is_compiled_before_where_the_machine_says_otherwise(
    tmp_path: Path,
) -> None:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= footprint.compiling_into(str(tmp_path))

    command = [sys.executable, "-c", "import bench.wire"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)

    assert list(tmp_path.rglob("wire.*.pyc"))
