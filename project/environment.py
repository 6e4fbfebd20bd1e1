"""Knows how the example's settings are read from the environment; knows nothing of Django's apps.

`EXAMPLE_STATE` names the folder that keeps what must not be committed, `EXAMPLE_DATABASE` a
PostgreSQL address, `REDIS_URL` a Redis address, `SECRET_KEY` Django's key.
"""

import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


def state_folder(default: Path) -> Path:
    """The folder of the database, the key and the token, created for its owner alone."""
    folder = Path(os.environ.get("EXAMPLE_STATE", default))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def write_private(path: Path, text: str) -> None:
    """Replace a file by one that was never readable for others, not even for a moment."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(path)


def secret_key(folder: Path) -> str:
    """`SECRET_KEY` from the environment, or one that is made once and kept in the folder."""
    if key := os.environ.get("SECRET_KEY"):
        return key
    path = folder / "secret_key"
    if not path.exists():
        write_private(path, secrets.token_urlsafe(50))
    return path.read_text(encoding="utf-8")


def database(folder: Path) -> dict[str, Any]:
    """PostgreSQL where `EXAMPLE_DATABASE` is `postgres://user:password@host:port/name`; or SQLite.

    Raises `ValueError` for another scheme.
    """
    address = os.environ.get("EXAMPLE_DATABASE", "")
    return _postgresql(address) if address else _sqlite(folder)


def _postgresql(address: str) -> dict[str, Any]:
    parts = urlsplit(address)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ValueError("EXAMPLE_DATABASE must read postgres://user:password@host:port/name")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }


def _sqlite(folder: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": folder / "example.sqlite3",
        "CONN_MAX_AGE": 60,
        "OPTIONS": {
            # Readers beside one writer; a writer waits its turn from its first statement on,
            # where a transaction that starts as a reader would fail with "database is locked".
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
        },
    }


def cache_and_layer(address: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """`CACHES` and `CHANNEL_LAYERS`: Redis where there is one, else memory for one process."""
    if address is None:
        return (
            {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}},
            {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}},
        )
    return (
        {
            "default": {
                "BACKEND": "django.core.cache.backends.redis.RedisCache",
                "LOCATION": address,
                "KEY_PREFIX": "example",
            }
        },
        {
            "default": {
                "BACKEND": "channels_redis.core.RedisChannelLayer",
                "CONFIG": {"hosts": [address], "prefix": "example"},
            }
        },
    )
