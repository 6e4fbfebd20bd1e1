"""The names that limit a token: unknown ones are refused on each way in, vanished ones harmless."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.forms import modelform_factory
from django.test import Client

from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import effective_scopes, issue, narrowing, save_new
from mcp_app.models import Token

Issued = tuple[Token, Secret]

UNKNOWN = [
    ({"scopes": ["rooms:burn"]}, "unknown_scope", "Not a declared scope: rooms:burn"),
    ({"scopes": ["rooms:write", "Rooms:Write"]}, "unknown_scope", "Rooms:Write (or rooms:write?)"),
    ({"scopes": ["*"]}, "unknown_scope", "Not a declared scope: *"),
    ({"tools": ["no_such"]}, "unknown_tool", "There is no tool no_such"),
    ({"tools": ["announce", "list_room"]}, "unknown_tool", "list_room (or list_rooms?)"),
    ({"tools": ["*"]}, "unknown_tool", "There is no tool *"),
    ({"scopes": "rooms:write"}, "not_a_list", "Scopes are a list of names"),
    ({"scopes": [["rooms:write"]]}, "not_a_list", "Scopes are a list of names"),
    ({"scopes": [None]}, "not_a_list", "Scopes are a list of names"),
    ({"tools": "announce"}, "not_a_list", "Tools are a list of names"),
    ({"tools": [1]}, "not_a_list", "Tools are a list of names"),
]


def full_clean(user: Any, limits: dict[str, Any]) -> None:
    Token(user=user, name="x", **limits).full_clean()


def save(user: Any, limits: dict[str, Any]) -> None:
    save_new(Token(user=user, name="x", **limits))


def issuing(user: Any, limits: dict[str, Any]) -> None:
    issue(user=user, name="x", **limits)


def changing(user: Any, limits: dict[str, Any]) -> None:
    token, _ = issue(user=user, name="x", scopes=["rooms:write"], tools=["announce"])
    try:
        for name, value in limits.items():
            setattr(token, name, value)
        token.full_clean()
    finally:
        token.delete()


@pytest.mark.parametrize("way", [full_clean, save, issuing, changing])
@pytest.mark.parametrize(("limits", "code", "sentence"), UNKNOWN)
def test_what_is_not_known_is_refused_by_each_way_in(
    way: Callable[[Any, dict[str, Any]], None],
    limits: dict[str, Any],
    code: str,
    sentence: str,
    ana: Any,
) -> None:
    with pytest.raises(ValidationError) as refused:
        way(ana, limits)
    [(field, [error])] = refused.value.error_dict.items()
    assert field in limits
    assert error.code == code
    assert sentence in " ".join(error.messages)
    assert not Token.objects.exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--scope", "rooms:burn"), "Not a declared scope: rooms:burn"),
        (("--scope", "rooms:write", "--scope", ""), "Not a declared scope: ."),
        (("--tool", "list_room"), "There is no tool list_room (or list_rooms?)"),
        (("--tool", ""), "There is no tool ."),
    ],
)
def test_the_command_refuses_them_too(options: tuple[str, ...], sentence: str, ana: Any) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("mcp_token", "create", "ana", "--name", "x", *options)
    assert sentence in str(refused.value)
    assert not Token.objects.exists()


@pytest.mark.parametrize("empty", [None, "", {}, ()])
def test_what_is_empty_is_an_empty_list_of_scopes(empty: Any, ana: Any) -> None:
    token = Token(user=ana, name="x", scopes=empty)
    token.full_clean()
    assert token.scopes == []


@pytest.mark.parametrize("empty", ["", {}, ()])
def test_what_is_empty_and_no_list_is_no_tool(empty: Any, ana: Any) -> None:
    token = Token(user=ana, name="x", tools=empty)
    token.full_clean()
    assert token.tools == []


@pytest.mark.parametrize("stored", ["rooms:write", {"rooms:write": 1}, [["rooms:write"]], 1, True])
def test_a_row_that_holds_no_list_lets_nothing_be_called(stored: Any, ana: Any) -> None:
    token, _ = issue(user=ana, name="x")
    Token.objects.filter(pk=token.pk).update(scopes=stored, tools=stored)
    token.refresh_from_db()
    assert narrowing(token) == {"scopes": frozenset(), "tools": frozenset(), "reads_only": False}


# --- what was known once -------------------------------------------------------------------------


@pytest.fixture
def vanished(ana: Any, settings: Any) -> Token:
    """A token with a scope and a tool that there are no more."""
    settings.MCP_APP = {**settings.MCP_APP, "SCOPES": {"rooms:write": "Close", "old": "Gone soon"}}
    token, _ = issue(user=ana, name="x", scopes=["old", "rooms:write"], tools=["announce"])
    settings.MCP_APP = {**settings.MCP_APP, "SCOPES": {"rooms:write": "Close"}}
    Token.objects.update(tools=["announce", "was_once"])
    token.refresh_from_db()
    return token


def test_what_has_vanished_means_nothing_and_may_stay(vanished: Token) -> None:
    assert effective_scopes(vanished) == {"rooms:write"}
    vanished.name = "renamed"
    vanished.full_clean()
    # What it does not name already is refused as ever; also what another token names.
    for scopes in (["old", "older"], ["rooms:burn"]):
        vanished.scopes = scopes
        with pytest.raises(ValidationError) as refused:
            vanished.full_clean()
        assert "old," not in str(refused.value)
    other = Token(user=vanished.user, name="y", scopes=["old"])
    with pytest.raises(ValidationError, match="old"):
        other.full_clean()


def test_it_cannot_be_taken_up_again_once_it_is_let_go(vanished: Token) -> None:
    vanished.scopes = ["rooms:write"]
    vanished.save()
    vanished.scopes = ["old", "rooms:write"]
    with pytest.raises(ValidationError, match="old"):
        vanished.full_clean()


def test_a_form_without_these_fields_saves_such_a_token(vanished: Token) -> None:
    form = modelform_factory(Token, fields=["note"])({"note": "why"}, instance=vanished)
    assert form.is_valid()
    assert form.save().scopes == ["old", "rooms:write"]


def test_the_command_says_what_is_gone(vanished: Token) -> None:
    out = StringIO()
    call_command("mcp_token", "list", stdout=out)
    assert "old (gone),rooms:write" in out.getvalue()
    assert "announce, was_once (gone)" in out.getvalue()


def test_pages_say_what_is_gone_and_keep_it(vanished: Token, django_user_model: Any) -> None:
    client = Client()
    client.force_login(django_user_model.objects.create_superuser("boss"))
    listed = client.get("/admin/mcp_app/token/").content.decode()
    assert listed.count("(no longer there)") == 2
    address = f"/admin/mcp_app/token/{vanished.pk}/change/"
    page = client.get(address).content.decode()
    assert page.count("no longer declared: it allows nothing") == 2
    secrets = {"secrets-TOTAL_FORMS": "0", "secrets-INITIAL_FORMS": "0"}
    sent = {
        "name": "renamed",
        "scopes": ["old", "rooms:write"],
        "tools_limit": "only",
        "tools_names": ["announce", "was_once"],
        **secrets,
    }
    assert client.post(address, sent).status_code == 302
    vanished.refresh_from_db()
    assert vanished.name == "renamed"
    assert (vanished.scopes, vanished.tools) == (
        ["old", "rooms:write"],
        ["announce", "was_once"],
    )
    # Let go of by whoever takes the tick away; of another token it is no choice.
    assert client.post(address, {**sent, "scopes": ["rooms:write"]}).status_code == 302
    refused = client.post(address, sent)
    assert "old is not one of the available choices" in refused.content.decode()
