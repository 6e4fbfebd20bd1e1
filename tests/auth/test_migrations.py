"""What migrations do to the tokens that there are: none is let do more than before."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

Apps = Any


@pytest.fixture
def migrated(transactional_db: None) -> Iterator[Any]:
    """Migrate the app to a state, and to its last one at the end."""

    def migrate(name: str) -> Apps:
        executor = MigrationExecutor(connection)
        return executor.migrate([("mcp_app", name)]).apps

    latest = [node for node in MigrationExecutor(connection).loader.graph.leaf_nodes("mcp_app")]
    yield migrate
    MigrationExecutor(connection).migrate(latest)


def tokens(apps: Apps, **tools: Any) -> None:
    """Save a token for each, named like it."""
    user, _ = apps.get_model("auth", "User").objects.get_or_create(username="ana")
    for name, value in tools.items():
        apps.get_model("mcp_app", "Token").objects.create(user=user, name=name, tools=value)


def stored(apps: Apps) -> dict[str, Any]:
    return dict(apps.get_model("mcp_app", "Token").objects.values_list("name", "tools"))


def test_a_token_for_any_tool_stays_one_and_none_comes_back_with_more(migrated: Any) -> None:
    before = migrated("0006_switches")
    tokens(before, any=[], some=["list_rooms"])
    after = migrated("0007_no_tools")
    assert stored(after) == {"any": None, "some": ["list_rooms"]}
    tokens(after, none=[])
    before = migrated("0006_switches")
    # The code before takes an empty list for any tool.
    assert stored(before) == {"any": [], "some": ["list_rooms"], "none": [""]}
    after = migrated("0007_no_tools")
    assert stored(after) == {"any": None, "some": ["list_rooms"], "none": []}
