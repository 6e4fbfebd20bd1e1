"""The compiled statement finds what the ORM finds, whatever is in the rows."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, connections, models
from django.db.models.query_utils import DeferredAttribute
from django.db.models.signals import post_init
from django.test.utils import CaptureQueriesContext, isolate_apps

from mcp_app import compiled
from mcp_app.auth import lookup
from mcp_app.auth.tokens import issue, revoke
from mcp_app.models import Token, TokenSecret
from tests.auth.conftest import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _compiled_here() -> Iterator[None]:
    """Each test compiles its own statements, and leaves none."""
    vars(connections["default"]).pop("_mcp_app_compiled", None)
    yield
    vars(connections["default"]).pop("_mcp_app_compiled", None)


@pytest.fixture
def secrets() -> list[TokenSecret]:
    """Secrets of many kinds: of two users, used and not, ended in each way there is."""
    ana = get_user_model().objects.create_user("ana", first_name="Ana ☃", last_name="O'Hara %s")
    bob = get_user_model().objects.create_user("bob", last_login=NOW)
    plain, _ = issue(user=ana, name="plain", now=NOW)
    full, _ = issue(
        user=ana,
        name="full %",
        scopes=["rooms:write"],
        expires_at=NOW + timedelta(days=3, microseconds=1),
        created_by=bob,
        now=NOW,
    )
    Token.objects.filter(pk=full.pk).update(note="ä\n%s", read_only=True, tools=["say_hello"])
    gone, _ = issue(user=bob, name="gone", tools=[], now=NOW)
    revoke(gone, now=NOW + timedelta(hours=1))
    get_user_model().objects.filter(pk=bob.pk).update(is_active=False)
    used = plain.secrets.get()
    TokenSecret.objects.filter(pk=used.pk).update(
        last_used_at=NOW, last_used_ip="2001:db8::1", valid_until=NOW + timedelta(days=1)
    )
    return list(lookup.secrets("default"))


def _by_lookup(names: list[str]) -> dict[str, TokenSecret]:
    """What is found of them."""
    found = lookup.find(names)
    assert len(found) == len(names)
    return {secret.lookup: secret for secret in found if secret is not None}


def _columns(row: Any) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def _parts(secret: TokenSecret) -> list[Any]:
    return [secret, secret.token, secret.token.user]


def test_rows_are_those_of_the_orm_in_one_query(secrets: list[TokenSecret]) -> None:
    assert len(secrets) == 3
    lookup.find(["compiled now"])
    with CaptureQueriesContext(
        connection,
    ) as queries:
        found = _by_lookup([secret.lookup for secret in secrets])
        assert found.keys() == {secret.lookup for secret in secrets}
        for secret in secrets:
            for ours, orms in zip(_parts(found[secret.lookup]), _parts(secret), strict=True):
                assert type(ours) is type(orms)
                assert _columns(ours) == _columns(orms)
                assert (ours._state.db, ours._state.adding) == ("default", False)
                assert not ours.get_deferred_fields()
    assert len(queries) == 1


@pytest.mark.parametrize("count", [0, 1, 2, 4, 5, 16, 17, 63, 64, 65, 130])
def test_any_number_of_lookups_finds_what_there_is(count: int, ana: Any) -> None:
    token, _ = issue(user=ana, name="many", now=NOW)
    there = [f"{number:012d}" for number in range(0, count, 3)]
    TokenSecret.objects.bulk_create(
        [TokenSecret(token=token, lookup=name, digest=name) for name in there]
    )
    found = _by_lookup([f"{number:012d}" for number in range(count)])
    assert sorted(found) == there
    assert all(secret.digest == name for name, secret in found.items())


def test_a_statement_is_compiled_once_a_connection(secrets: list[TokenSecret]) -> None:
    one = secrets[0].lookup
    lookup.find([one])
    (kept,) = vars(connections["default"])["_mcp_app_compiled"].values()
    lookup.find([one])
    assert list(vars(connections["default"])["_mcp_app_compiled"].values()) == [kept]


def test_what_changes_is_seen_at_the_next_look(secrets: list[TokenSecret]) -> None:
    one = secrets[0].lookup
    before = _by_lookup([one])[one]
    Token.objects.filter(pk=before.token_id).update(revoked_at=NOW)
    assert _by_lookup([one])[one].token.revoked_at == NOW
    TokenSecret.objects.filter(lookup=one).delete()
    assert lookup.find([one]) == [None]


def test_columns_with_parameters_of_their_own_are_left_to_the_orm(
    secrets: list[TokenSecret], monkeypatch: pytest.MonkeyPatch
) -> None:
    note = Token._meta.get_field("note")

    def shout(compiler: Any, sql: str, params: Any) -> tuple[str, list[Any]]:
        return f"COALESCE({sql}, %s)", [*params, "nothing"]

    monkeypatch.setattr(note, "select_format", shout)
    names = [secret.lookup for secret in secrets]
    found = _by_lookup(names)
    assert {name: secret.token.note for name, secret in found.items()} == {
        secret.lookup: secret.token.note for secret in secrets
    }


def test_hostile_lookups_are_only_values(secrets: list[TokenSecret]) -> None:
    assert lookup.find(["' OR 1=1 --", "%s", "%", "mark 0"]) == [None] * 4


@pytest.mark.parametrize("is_plain", [True, False])
def test_what_is_asked_for_twice_is_two_objects_in_order(
    secrets: list[TokenSecret], is_plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        compiled.Select, "is_plain", property(lambda _: is_plain, lambda *_: 0), raising=False
    )
    one, other = secrets[0].lookup, secrets[1].lookup
    found = lookup.find([one, other, "nobody", one])
    assert [secret and secret.lookup for secret in found] == [one, other, None, one]
    first, last = found[0], found[3]
    assert first is not None
    assert last is not None
    for ours, theirs in zip(_parts(first), _parts(last), strict=True):
        assert ours is not theirs
        assert _columns(ours) == _columns(theirs)
    first.token.scopes.append("first:only")
    assert "first:only" not in last.token.scopes


def test_who_listens_to_users_being_made_hears_of_them(secrets: list[TokenSecret]) -> None:
    heard: list[Any] = []

    def listener(instance: Any, **kwargs: Any) -> None:
        heard.append(instance)

    post_init.connect(listener, sender=get_user_model())
    try:
        (found,) = lookup.find([secrets[0].lookup])
    finally:
        post_init.disconnect(listener, sender=get_user_model())
    assert found is not None
    assert heard == [found.token.user]


class _Counting:
    """What a product may put behind Django's model."""

    def __init__(self) -> None:
        self.is_counted = True


class _Kept(models.CharField):
    """A field that makes something of what it is given."""

    class Shouting(DeferredAttribute):
        def __set__(self, instance: Any, value: Any) -> None:
            instance.__dict__["name"] = value.upper()

    descriptor_class = Shouting


@isolate_apps("mcp_app")
def test_models_that_take_part_in_being_made_are_made_by_themselves() -> None:
    class Own(models.Model, _Counting):  # type: ignore[misc]
        name = models.CharField(max_length=9)

        class Meta:
            app_label = "mcp_app"

    class Shouting(models.Model):
        name = _Kept(max_length=9)

        class Meta:
            app_label = "mcp_app"

    counted = compiled.Columns(Own).made("default", [1, "a"])
    assert (counted.is_counted, counted.name, counted._state.adding) == (True, "a", False)
    assert compiled.Columns(Shouting).made("default", [1, "a"]).name == "A"
    assert compiled.new(Shouting, {"id": None, "name": "a"}).name == "A"
