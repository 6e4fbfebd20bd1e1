"""What every test has: a database that several threads can share, and empty caches.

It imports no Django at its top, so that `pytest -p no:django` runs the tests of the layers that
know none.
"""

import functools
import importlib.util
import os
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest

# How long an example takes says how busy the machine is, and nothing else.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")

# Other people's clients come with requirements/dev.txt; `make test` does without them.
collect_ignore = [] if importlib.util.find_spec("httpx2") else ["interop"]


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Put SQLite's test database into a file: WAL and busy timeouts do not work in memory."""
    from django.db import connections

    connection = connections["default"]
    if connection.vendor == "sqlite":
        folder = tmp_path_factory.mktemp("database")
        connection.settings_dict["TEST"]["NAME"] = str(folder / "test.sqlite3")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Empty databases quickly; drop them though lanes and the recorder keep connections warm."""
    from django.db import connections
    from django.test import TransactionTestCase

    from tests.emptying import empties

    with pytest.MonkeyPatch.context() as patch:
        with django_db_blocker.unblock():
            patch.setattr(TransactionTestCase, "_fixture_teardown", empties())
        yield
    with django_db_blocker.unblock():
        for connection in connections.all():
            if connection.vendor == "postgresql":
                _end_other_sessions(connection)


def _end_other_sessions(connection: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture(autouse=True)
def nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave no throttle counter, session, language or counted log line to the next test."""
    yield
    if request.config.pluginmanager.has_plugin("django"):
        _empty_caches()
        _leave_the_language()
        _log_all_again()


def _empty_caches() -> None:
    from django.conf import settings
    from django.core.cache import caches

    if address := os.environ.get("REDIS_URL"):
        # Not `cache.clear()`, which empties the whole Redis database, other runs' keys too.
        client = _redis(address)
        if keys := list(client.scan_iter(f"{settings.CACHES['default']['KEY_PREFIX']}:*", 1000)):
            client.delete(*keys)
        return
    for cache in caches.all(initialized_only=True):
        cache.clear()


@functools.cache
def _redis(address: str) -> Any:
    """One connection for all tests of this process."""
    import redis

    return redis.Redis.from_url(address)


def _leave_the_language() -> None:
    """A request's language stays its thread's."""
    from django.utils import translation

    translation.deactivate()


def _log_all_again() -> None:
    """What failed in one test is logged in the next, too."""
    from mcp_app import seldom

    seldom.forget()
