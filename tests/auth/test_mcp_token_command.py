"""`manage.py mcp_token`: what it prints, and what it refuses with a sentence."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from mcp_app.audit.periods import to_the_minute
from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import end_secret, issue
from mcp_app.auth.verification import CredentialsInvalid, verify
from mcp_app.models import Token


@pytest.fixture
def issued(ana: Any) -> tuple[Token, Secret]:
    return issue(user=ana, name="laptop", scopes=["rooms:write"])


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("mcp_token", *arguments, stdout=out)
    return out.getvalue()


def test_create_plain_prints_the_secret_alone(ana: Any) -> None:
    printed = run(
        "create", "ana", "--name", "ci", "--scope", "rooms:write", "--days", "3", "--plain"
    )
    token = verify(printed.removesuffix("\n")).token
    assert (token.user, token.name, token.scopes) == (ana, "ci", ["rooms:write"])
    assert token.expires_at is not None
    assert abs(token.expires_at - timezone.now() - timedelta(days=3)) < timedelta(minutes=1)


def test_create_says_whose_token_it_is(ana: Any) -> None:
    first, secret, last = run("create", "ana", "--name", "ci").splitlines()
    assert "“ci” for ana" in first
    assert verify(secret).token.expires_at is None
    assert "not shown again" in last


@pytest.mark.parametrize(
    ("options", "tools", "told"),
    [
        ((), None, "no limits"),
        (
            ("--tool", "list_rooms", "--tool", "announce"),
            ["announce", "list_rooms"],
            "announce, li",
        ),
        (("--no-tools",), [], "no tools"),
    ],
)
def test_create_limits_to_any_some_or_no_tools(
    options: tuple[str, ...], tools: list[str] | None, told: str, ana: Any
) -> None:
    secret = run("create", "ana", "--name", "ci", "--plain", *options)
    assert verify(secret.removesuffix("\n")).token.tools == tools
    assert told in run("list")


def test_no_tools_and_some_tools_are_not_both_meant(ana: Any) -> None:
    with pytest.raises(CommandError, match="not allowed with"):
        run("create", "ana", "--name", "ci", "--tool", "announce", "--no-tools")
    assert not Token.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("create", "nobody", "--name", "x"), "no user 'nobody'"),
        (("create", "ana", "--name", "x", "--scope", "rooms:burn"), "rooms:burn"),
        (("create", "ana", "--name", ""), "blank"),
        (("create", "ana", "--name", "x", "--days", "-1"), "in the past"),
        (("create", "ana", "--name", "x", "--days", "99999999"), "too long"),
        (("rotate", "999"), "no such token"),
        (("revoke", "mcp_abcdefABCDEF"), "no such token"),
        (("list", "--user", "nobody"), "no user 'nobody'"),
    ],
)
def test_mistakes_are_answered_with_a_sentence(
    arguments: tuple[str, ...], sentence: str, ana: Any
) -> None:
    with pytest.raises(CommandError, match=sentence):
        run(*arguments)
    assert not Token.objects.exists()


def test_rotate_finds_a_token_by_id_prefix_and_whole_secret(issued: tuple[Token, Secret]) -> None:
    token, secret = issued
    text = secret.reveal()
    for which in (str(token.pk), text[4:16], text[:16], text):
        new = run("rotate", which, "--plain").strip()
        assert verify(new).token == token


def test_rotate_without_grace_ends_the_old_secret(issued: tuple[Token, Secret]) -> None:
    token, secret = issued
    run("rotate", str(token.pk), "--grace", "0")
    with pytest.raises(CredentialsInvalid):
        verify(secret.reveal())


def test_rotate_says_when_the_old_secret_ends_and_never_later_than_its_token(ana: Any) -> None:
    end = timezone.now() + timedelta(hours=3)
    token, old = issue(user=ana, name="short", expires_at=end)
    told = run("rotate", str(token.pk), "--grace", "86400")
    before = f"The secret before it, {old.reveal()[:16]}_…,"
    assert f"{before} works until {to_the_minute(end)}." in told
    assert "is refused from now on." in run("rotate", str(token.pk), "--grace", "0")


@pytest.mark.parametrize("grace", ["-1", "1000000000", "99999999999999999"])
def test_rotate_refuses_a_grace_out_of_bounds(grace: str, issued: tuple[Token, Secret]) -> None:
    with pytest.raises(CommandError, match=r"ten years|too long"):
        run("rotate", str(issued[0].pk), f"--grace={grace}")


def test_revoke_ends_a_token_once_and_says_so(issued: tuple[Token, Secret]) -> None:
    token, secret = issued
    assert run("revoke", secret.reveal()[4:16]).startswith("Revoked")
    assert run("revoke", str(token.pk)).startswith("Was revoked before")
    with pytest.raises(CommandError, match="revoked token cannot be rotated"):
        run("rotate", str(token.pk))


def test_list_shows_prefixes_and_never_a_secret(issued: tuple[Token, Secret]) -> None:
    token, secret = issued
    for listed in (run("list"), run("list", "--user", "ana")):
        fields = listed.strip().split("\t")
        assert fields[:6] == [
            str(token.pk),
            secret.reveal()[:16],
            "ana",
            "laptop",
            "active",
            "rooms:write",
        ]
        assert secret.reveal()[17:] not in listed


def test_list_tells_a_token_without_a_secret_that_works(issued: tuple[Token, Secret]) -> None:
    token, secret = issued
    end_secret(token, secret.reveal()[4:16])
    assert run("list").split("\t")[4] == "no_secret"
