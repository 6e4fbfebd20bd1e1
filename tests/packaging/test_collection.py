"""`make test` needs no more than requirements/test.txt: all is collected without the rest."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.test_requirements import lines, names

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).resolve().parents[2]
MODULES = {"build", "gunicorn", "hatchling", "httpx2", "mcp", "mypy", "uvicorn", "yaml"}
"""What requirements/dev.txt adds, by the names that are imported."""
WITHOUT = """
import sys
import pytest
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules!r}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Missing())
import importlib.util
found = importlib.util.find_spec
def find_spec(name, package=None):
    return None if name.partition(".")[0] in {modules!r} else found(name, package)
importlib.util.find_spec = find_spec
sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider"]))
"""


def test_every_test_is_collected_without_the_tools_of_development() -> None:
    assert MODULES - {"yaml"} <= names(lines("dev.txt"))
    script = WITHOUT.format(modules=MODULES)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
