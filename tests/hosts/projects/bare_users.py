"""A project whose users have no column that says who is active."""

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.hosts.accounts"]
AUTH_USER_MODEL = "accounts.Account"
ROOT_URLCONF = "tests.interaction.urls"
