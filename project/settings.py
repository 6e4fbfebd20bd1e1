"""The example product's settings: what a Django project has, and at the end what mcp_app adds."""

import os
from pathlib import Path

from project.environment import cache_and_layer, database, secret_key, state_folder

BASE_DIR = Path(__file__).resolve().parent.parent
STATE_DIR = state_folder(BASE_DIR / ".example")
CREDENTIALS_FILE = STATE_DIR / "credentials.json"

SECRET_KEY = secret_key(STATE_DIR)
DEBUG = os.environ.get("EXAMPLE_DEBUG") == "1"
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "channels",
    "mcp_app",
    "project",
    "project.quiz",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "project.urls"
ASGI_APPLICATION = "project.asgi.application"
WSGI_APPLICATION = "project.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {"default": database(STATE_DIR)}
CACHES, CHANNEL_LAYERS = cache_and_layer(os.environ.get("REDIS_URL"))
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "mcp_app_account:tokens"
LOGOUT_REDIRECT_URL = "landing"

LANGUAGE_CODE = "en-us"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True
STATIC_URL = "static/"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "loggers": {"mcp_app": {"handlers": ["console"], "level": "INFO"}},
}

# What mcp_app adds: this, its three names in INSTALLED_APPS and two lines in urls.py.
MCP_APP = {
    "SERVER_NAME": "quiz-backoffice",
    "SERVER_TITLE": "Quiz back office",
    "INSTRUCTIONS": "Look into a multiplayer quiz game: its rooms, matches and diagnostics.",
    "SCOPES": {"rooms:write": "Close rooms and announce to players"},
}
