"""The example's settings with static files served, and a policy that every page must keep."""

import os

os.environ["EXAMPLE_DEBUG"] = "1"

from project.settings import *  # noqa: F403
from project.settings import INSTALLED_APPS, MIDDLEWARE

MIDDLEWARE = ["tests.browser.policy.content_security_policy", *MIDDLEWARE]
INSTALLED_APPS = [*INSTALLED_APPS, "tests.browser.waiting"]
