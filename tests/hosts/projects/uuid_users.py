"""A project with a user model of its own, whose keys are UUIDs."""

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.hosts.people"]
AUTH_USER_MODEL = "people.Person"
ROOT_URLCONF = "tests.interaction.urls"
