"""The wheel carries the app whole and nothing else."""

import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from mcp_app import __version__

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "mcp_app"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built with the build backend that is installed already."""
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), ROOT],
        check=True,
        capture_output=True,
        timeout=120,
    )
    (path,) = out.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_every_file_of_the_app(wheel: zipfile.ZipFile) -> None:
    on_disk = {
        path.relative_to(ROOT).as_posix()
        for path in APP.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    assert on_disk <= set(wheel.namelist())


@pytest.mark.parametrize(
    "pattern",
    [
        "mcp_app/py.typed",
        "mcp_app/migrations/0*.py",
        "mcp_app/templates/**/*.html",
        "mcp_app/static/mcp_app/*",
        "mcp_app/locale/*/LC_MESSAGES/django.mo",
    ],
)
def test_the_wheel_holds_what_is_no_python(wheel: zipfile.ZipFile, pattern: str) -> None:
    files = [path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern) if path.is_file()]

    assert files
    assert set(files) <= set(wheel.namelist())


def test_the_wheel_holds_neither_the_example_nor_the_tests(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}

    assert tops == {"mcp_app", f"mcp_app-{__version__}.dist-info"}


def test_the_wheel_says_what_it_is(wheel: zipfile.ZipFile) -> None:
    text = wheel.read(f"mcp_app-{__version__}.dist-info/METADATA").decode()
    metadata = HeaderParser().parsestr(text)

    assert metadata["Name"] == "mcp-app"
    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.11"
