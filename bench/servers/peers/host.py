"""The Django project that a Django peer runs in: what ours has too, and no more than it needs."""

import os
from pathlib import Path
from typing import Any

import django
from django.conf import settings

ASKS_FOR_TOKEN = os.environ.get("BENCH_TOKEN") == "1"
TOOLS = int(os.environ.get("BENCH_TOOLS", "0"))


def configure(urls: str, apps: list[str], **more: Any) -> None:
    """Set Django up, with a warm SQLite connection a thread."""
    settings.configure(
        SECRET_KEY="of the bench alone, and nothing is signed with it elsewhere",
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF=urls,
        MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", *apps],
        DATABASES={"default": _sqlite()},
        CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        APPEND_SLASH=False,
        USE_TZ=True,
        **more,
    )
    django.setup()


def _sqlite() -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": Path(os.environ.get("BENCH_STATE", ".")) / "peer.sqlite3",
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
        },
    }


def look_up(
    customer_id: int,
    name: str,
    limit: int = 10,
    verbose: bool = False,
    tags: list[str] | None = None,
) -> dict[str, int]:
    """Look up the record of a customer and return its fields, with an optional limit."""
    return {"customer": customer_id}
