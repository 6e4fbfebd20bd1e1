"""A user, a moment, and an issued token to try things on."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import issue
from mcp_app.models import Token

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def now() -> datetime:
    """The moment at which tokens of these tests are issued."""
    return NOW


@pytest.fixture
def ana(django_user_model: Any, db: None) -> Any:
    """An ordinary user."""
    return django_user_model.objects.create_user("ana", password="ana")


@pytest.fixture
def issued(ana: Any) -> tuple[Token, Secret]:
    """A token of Ana's, issued at `NOW`, and its secret."""
    return issue(user=ana, name="laptop", scopes=["rooms:write"], now=NOW)
