"""The example's users, and the credentials that `make run` prints."""

import stat
from pathlib import Path

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User

from mcp_app.auth.tokens import revoke
from mcp_app.auth.verification import verify
from mcp_app.models import Token
from project.people import Credentials, prepare, read

pytestmark = pytest.mark.django_db


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the credentials are kept."""
    return tmp_path / "credentials.json"


def test_the_token_works_for_a_supporter_who_is_no_staff(path: Path) -> None:
    prepare(path)

    user = verify(read(path).token).token.user
    assert user.get_username() == "sam"
    assert not user.is_staff
    assert user.has_perm("quiz.view_room")


def test_another_user_may_do_nothing(path: Path) -> None:
    prepare(path)

    assert not User.objects.get(username="vera").get_all_permissions()


def test_the_printed_password_opens_the_admin(path: Path) -> None:
    prepare(path)

    user = authenticate(username="admin", password=read(path).password)
    assert user is not None
    assert user.is_superuser


def test_a_second_run_keeps_the_token_and_the_password(path: Path) -> None:
    prepare(path)
    kept = read(path)

    prepare(path)

    assert read(path) == kept
    assert Token.objects.count() == 1


def test_a_revoked_token_is_replaced_by_one_that_works(path: Path) -> None:
    prepare(path)
    old = read(path).token
    revoke(Token.objects.get())

    prepare(path)

    assert read(path).token != old
    assert verify(read(path).token).token.user.get_username() == "sam"


def test_a_changed_password_is_set_back_to_the_printed_one(path: Path) -> None:
    prepare(path)
    admin = User.objects.get(username="admin")
    admin.set_password("forgotten")
    admin.save()

    prepare(path)

    assert authenticate(username="admin", password=read(path).password) == admin


def test_the_credentials_are_their_owners_alone(path: Path) -> None:
    prepare(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_broken_credentials_file_reads_as_none(path: Path) -> None:
    path.write_text("{")

    assert read(path) == Credentials(password="", token="")
