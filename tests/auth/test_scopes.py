"""Which scopes come with which: by their names and by `implies`, and what of that is refused."""

from contextlib import suppress
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.test import Client

from mcp_app import checks, conf, scopes
from mcp_app.auth.tokens import effective_scopes, issue
from mcp_app.catalog.registry import default_server
from mcp_app.management.callers import find_caller
from mcp_app.models import Token

TREE = {
    "admin": {"description": "All of it", "implies": ["orders", "reports:read"]},
    "orders": "Change orders",
    "orders:read": {"description": "Read orders", "implies": ["customers"]},
    "customers": {"description": "See customers"},
    "customers:read": "",
    "reports": {"implies": []},
    "reports:read": "Read reports",
    "ordersx": "Another thing",
}


@pytest.fixture
def declare(settings: Any) -> Any:
    """Declare scopes."""

    def declare(stated: Any) -> None:
        settings.MCP_APP = {**settings.MCP_APP, "SCOPES": stated}

    return declare


@pytest.mark.parametrize(
    ("held", "carried"),
    [
        ([], set()),
        (["customers:read"], {"customers:read"}),
        (["orders:read"], {"orders:read", "customers", "customers:read"}),
        (["orders"], {"orders", "orders:read", "customers", "customers:read"}),
        (["reports", "customers:read"], {"reports", "reports:read", "customers:read"}),
        (["admin"], TREE.keys() - {"reports", "ordersx"}),
        (["was_once", "ORDERS", "orders:"], set()),
    ],
)
def test_a_scope_brings_what_it_implies_to_the_end(
    held: list[str], carried: set[str], declare: Any, ana: Any
) -> None:
    declare(TREE)
    assert checks.check_implied_scopes() == []
    assert effective_scopes(Token(user=ana, scopes=held)) == carried


def test_nothing_is_implied_upwards_or_by_a_scope_that_is_gone(declare: Any, ana: Any) -> None:
    declare({name: stated for name, stated in TREE.items() if name != "orders"})
    # What led through it leads no further, and its name implies nothing any more.
    assert scopes.carried(["admin"]) == {"admin", "reports:read"}
    assert scopes.carried(["orders"]) == frozenset()


@pytest.mark.parametrize(
    ("held", "scope", "way"),
    [
        (["orders"], "orders", ("orders",)),
        (["admin", "orders"], "orders", ("orders",)),
        (["admin"], "orders:read", ("admin", "orders", "orders:read")),
        (["admin", "orders:read"], "customers", ("orders:read", "customers")),
        (["customers"], "orders", ()),
        (["was_once"], "was_once", ()),
    ],
)
def test_the_way_that_implies_it(
    held: list[str], scope: str, way: tuple[str, ...], declare: Any
) -> None:
    declare(TREE)
    assert scopes.way(held, scope) == way


@pytest.mark.parametrize(
    ("stated", "ways"),
    [
        ({"a": {"implies": ["a"]}}, ["a → a"]),
        ({"a": {"implies": ["b"]}, "b": {"implies": ["a"]}}, ["a → b → a"]),
        ({"a:read": {"implies": ["a"]}, "a": ""}, ["a:read → a → a:read"]),
        (
            {
                "a": {"implies": ["b"]},
                "b": {"implies": ["c", "d"]},
                "c": {"implies": ["a"]},
                "d": {"implies": ["d"]},
            },
            ["a → b → c → a", "d → d"],
        ),
        (TREE, []),
        ({}, []),
    ],
)
def test_a_circle_is_an_error(stated: Any, ways: list[str], declare: Any) -> None:
    declare(stated)
    found = checks.check_implied_scopes()
    assert [(error.id, error.msg) for error in found] == [
        ("mcp_app.E005", f"A scope implies itself: {way}.") for way in ways
    ]
    # Whoever runs it nevertheless has an answer, and no endless loop.
    for scope in stated:
        assert scope in scopes.carried([scope])
    if ways:
        declare({**stated, "rooms:write": "The example needs it"})
        with pytest.raises(ImproperlyConfigured, match="implies itself"):
            checks.report()


def test_an_implied_scope_that_is_not_declared_is_an_error(declare: Any) -> None:
    declare({"a": {"implies": ["b", "c"]}, "b": {"implies": ["a:read"]}})
    found = checks.check_implied_scopes()
    assert [error.id for error in found] == ["mcp_app.E004"] * 2
    assert "'a' implies 'c'" in found[0].msg
    assert "'b' implies 'a:read'" in found[1].msg
    assert scopes.carried(["a"]) == {"a", "b"}
    declare({"a": {"implies": ["c"]}, "rooms:write": "The example needs it"})
    with pytest.raises(ImproperlyConfigured, match="'a' implies 'c', a scope that is not declared"):
        checks.report()


@pytest.mark.parametrize(
    "stated",
    [
        {"a": {"implies": "b"}, "b": ""},
        {"a": {"implies": [1]}},
        {"a": {"implies": None}},
        {"a": {"implied": ["b"]}, "b": ""},
        {"a": {"description": "x", "scopes": []}},
    ],
)
def test_what_is_misspelt_stops_the_process_with_a_sentence(stated: Any, declare: Any) -> None:
    declare(stated)
    with pytest.raises(ImproperlyConfigured, match="'implies': "):
        conf.validate()
    declare(TREE)
    conf.validate()


def test_the_admin_says_what_comes_with_a_scope(
    declare: Any, django_user_model: Any, db: None
) -> None:
    declare(TREE)
    client = Client()
    client.force_login(django_user_model.objects.create_superuser("boss"))
    page = client.get("/admin/mcp_app/token/add/").content.decode()
    assert "All of it (with customers, customers:read, orders, orders:read, reports:read)" in page
    assert "Change orders (with customers, customers:read, orders:read)" in page
    assert "{" not in page.split('id="id_scopes"')[1].split("</fieldset>")[0]


@pytest.fixture
def guarded() -> Any:
    @default_server.tool(read_only=True, scopes=["orders:read", "reports:read"])
    def guarded_tool() -> str:
        """Read."""
        return "in"

    yield guarded_tool
    default_server.remove("guarded_tool")


@pytest.mark.parametrize(
    ("held", "why"),
    [
        (
            ["admin"],
            "needs orders:read (through admin → orders), reports:read (through admin)",
        ),
        (
            ["orders", "reports:read"],
            "needs orders:read (through orders), reports:read",
        ),
        (["orders"], "the token lacks reports:read"),
        (["customers"], "the token lacks orders:read, reports:read"),
    ],
)
def test_explain_says_through_which_scope(
    held: list[str], why: str, declare: Any, ana: Any, guarded: Any
) -> None:
    declare(TREE)
    token, _ = issue(user=ana, name="x", scopes=held)
    out = StringIO()
    arguments = ("guarded_tool", "--token", token.secrets.get().lookup)
    with suppress(CommandError):
        call_command("mcp_explain", *arguments, stdout=out)
    assert why in out.getvalue()


def test_a_command_for_scopes_has_what_they_imply(declare: Any, ana: Any) -> None:
    declare(TREE)
    assert find_caller("ana", ["orders:read"]).scopes == {
        "orders:read",
        "customers",
        "customers:read",
    }
