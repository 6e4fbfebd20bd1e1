"""Projects whose settings need a process of their own: users, databases (D-045, 096)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif("EXAMPLE_DATABASE" in os.environ, reason="they bring SQLite of their own")
@pytest.mark.parametrize("project", ["uuid_users", "bare_users", "two_databases", "replica"])
def test_the_endpoint_works_in(project: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *[sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            f"--ds=tests.hosts.projects.{project}",
            *[f"tests/hosts/projects/{name}.py" for name in ("checks", "deletions")],
        ],
        cwd=ROOT,
        env=os.environ | {"EXAMPLE_STATE": str(tmp_path), "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
