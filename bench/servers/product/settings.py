"""The product's settings; `BENCH_STATE` and `BENCH_DATABASE` say where its rows are.

It has the middleware that the Django peers have too, and nothing that a product would not have.
"""

import os
from pathlib import Path

from project.environment import database

SECRET_KEY = "of the bench alone, and nothing is signed with it elsewhere"
ALLOWED_HOSTS = ["127.0.0.1"]
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "rest_framework",
    "channels",
    "mcp_app",
    "bench.servers.product",
]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
ROOT_URLCONF = "bench.servers.product.urls"
os.environ["EXAMPLE_DATABASE"] = os.environ.get("BENCH_DATABASE", "")
DATABASES = {"default": database(Path(os.environ.get("BENCH_STATE", ".")))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True

# The peers send all their tools on one page.
MCP_APP = {"SERVER_NAME": "bench", "PAGE_SIZE": 2000}
