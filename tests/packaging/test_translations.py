"""The app's pages in its second language: every text is translated, and compiled as written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mcp_app

pytestmark = pytest.mark.packaging

APP = Path(mcp_app.__file__).parent
LANGUAGES = [folder.name for folder in (APP / "locale").iterdir()]


def run(*command: str, cwd: Path) -> str:
    """What a command says on either output; one that fails fails the test."""
    alone = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO_")}
    done = subprocess.run(command, cwd=cwd, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def entries(po: Path) -> str:
    """A catalogue without the header, where dates stand."""
    return po.read_text().split("\n\n", 1)[1]


@pytest.fixture(scope="module")
def extracted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the app whose catalogues name what its code and templates say now."""
    copy = tmp_path_factory.mktemp("messages") / "mcp_app"
    shutil.copytree(APP, copy, ignore=shutil.ignore_patterns("__pycache__", "*.mo"))
    languages = [f"--locale={language}" for language in LANGUAGES]
    options = ["--no-location", "--no-obsolete"]
    run(sys.executable, "-m", "django", "makemessages", *languages, *options, cwd=copy)
    return copy


def test_german_is_spoken() -> None:
    assert "de" in LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_catalogue_has_each_text_of_the_app_and_no_other(
    extracted: Path, language: str
) -> None:
    po = Path("locale", language, "LC_MESSAGES", "django.po")
    assert entries(extracted / po) == entries(APP / po), "`make messages` writes it anew"


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_text_is_translated_and_compiled(language: str, tmp_path: Path) -> None:
    folder = APP / "locale" / language / "LC_MESSAGES"
    compiled = tmp_path / "django.mo"
    told = run(
        "msgfmt", "--check-format", "--statistics", "-o", str(compiled), "django.po", cwd=folder
    )
    assert "translated messages." in told
    assert "untranslated" not in told
    assert "fuzzy" not in told
    assert compiled.read_bytes() == (folder / "django.mo").read_bytes()
