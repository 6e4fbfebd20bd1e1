"""What the environment makes of the example's settings."""

import stat
from pathlib import Path

import pytest

from project.environment import cache_and_layer, database, secret_key, state_folder, write_private


def test_the_key_is_made_once_and_only_its_owner_may_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)

    key = secret_key(tmp_path)

    assert len(key) >= 50
    assert secret_key(tmp_path) == key
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


def test_the_state_folder_is_its_owners_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EXAMPLE_STATE", raising=False)

    assert stat.S_IMODE(state_folder(tmp_path / "state").stat().st_mode) == 0o700


def test_a_private_file_that_others_could_read_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "credentials.json"
    path.write_text("old")
    path.chmod(0o644)

    write_private(path, "new")

    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_postgresql_address_is_taken_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLE_DATABASE", "postgres://me:p%40ss@db.example:6543/quiz")

    settings = database(tmp_path)

    assert settings["ENGINE"] == "django.db.backends.postgresql"
    assert (settings["USER"], settings["PASSWORD"]) == ("me", "p@ss")
    assert (settings["HOST"], settings["PORT"], settings["NAME"]) == ("db.example", "6543", "quiz")


def test_an_unknown_kind_of_database_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLE_DATABASE", "mysql://db.example/quiz")

    with pytest.raises(ValueError, match="postgres://user:password@host:port/name"):
        database(tmp_path)


def test_without_redis_everything_stays_in_memory() -> None:
    caches, layers = cache_and_layer(None)

    assert "locmem" in caches["default"]["BACKEND"]
    assert "InMemory" in layers["default"]["BACKEND"]


def test_one_redis_address_serves_the_cache_and_the_channel_layer() -> None:
    caches, layers = cache_and_layer("redis://cache.example:6379/3")

    assert caches["default"]["LOCATION"] == "redis://cache.example:6379/3"
    assert layers["default"]["CONFIG"]["hosts"] == ["redis://cache.example:6379/3"]
