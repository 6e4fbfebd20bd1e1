"""The settings: one dict, `MCP_APP`, read on access, each key a typed property with its default.

What was read is kept until Django says that the dict has been replaced, as a test does.

`validate()` is called once at start-up and refuses what cannot be right with a sentence that says
what to write; unknown keys are a system check (`mcp_app.E001`).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import cached_property, lru_cache
from typing import Any, Final

from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from mcp_app import __version__
from mcp_app.catalog.keywords import AUDIT_LEVELS
from mcp_app.protocol.messages import MOST_VALUES
from mcp_app.protocol.versions import BY_NAME, VERSIONS, ProtocolVersion

DEFAULTS: Final[Mapping[str, Any]] = {
    "ENABLED": True,
    "SERVER_NAME": "django-mcp",
    "SERVER_TITLE": "",
    "SERVER_VERSION": __version__,
    "INSTRUCTIONS": "",
    "VERSIONS": [version.name for version in VERSIONS],
    "SCOPES": {},
    "AUTHENTICATION_CLASSES": ["mcp_app.auth.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": [],
    "THROTTLE_RATES": {},
    "THROTTLE_CACHE": "default",
    "THROTTLE_FAIL_OPEN": False,
    "FAILED_AUTH_RATE": "60/min",
    "UNAUTHENTICATED_ROWS": "60/min",
    "ALLOW_ANONYMOUS": False,
    "ALLOW_QUERY_TOKEN": False,
    "TOKEN_HEADER": "",
    "ALLOWED_ORIGINS": [],
    "ORIGIN_CHECK": None,
    "CORS": False,
    "NUM_PROXIES": 0,
    "MAX_BODY_BYTES": 10 * 1024 * 1024,
    "MAX_BODY_VALUES": MOST_VALUES,
    "MAX_RESULT_BYTES": 4 * 1024 * 1024,
    "MAX_QUERIES": None,
    "BATCH_LIMIT": 50,
    "WORKERS": 8,
    "KEEP_ALIVE": 15.0,
    "TOOL_TIMEOUT": 60.0,
    "INPUT_TIMEOUT": 300.0,
    "STREAM_LIMIT": 32,
    "STREAM_EVENTS": 1000,
    "STREAM_EVENT_TTL": 3600,
    "ATOMIC": None,
    "LENIENT_ARGUMENTS": True,
    "PAGE_SIZE": 200,
    "LIST_TTL_MS": 60_000,
    "LIST_TOKENS_WARNING": 10_000,
    "LEGACY_SESSIONS": True,
    "SESSION_TTL": 24 * 3600,
    "SESSION_LIMIT": 100,
    "TOKEN_MAX_DAYS": None,
    "ROTATE_AFTER_DAYS": None,
    "ROTATION_GRACE": 24 * 3600,
    "LAST_USED_INTERVAL": 60,
    "ACCOUNT_SCOPES": [],
    "ACCOUNT_MAX_DAYS": 90,
    "ACCOUNT_TOKENS": 10,
    "AUDIT_ARGUMENTS": "redacted",
    "AUDIT_DATABASE": None,
    "AUDIT_REQUIRED": False,
    "REDACT_KEYS": [],
    "SEAL_KEYS": [],
    "SERVER_INFO": [],
    "LIST_TOOLS": [],
    "BEFORE_CALL": [],
    "ON_CALL": [],
}
"""Every key with its default. Sizes in bytes; times in seconds unless the name says otherwise."""

HOOKS: Final = ("SERVER_INFO", "LIST_TOOLS", "BEFORE_CALL", "ON_CALL", "ORIGIN_CHECK")
"""The keys that hold functions of the product, which are called and not awaited."""

_RATE: Final = re.compile(r"[1-9][0-9]*/(?:s|sec|m|min|h|hour|d|day)")
_HEADER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@*\s]+/?", re.IGNORECASE)
_POSITIVE: Final = (
    "MAX_BODY_BYTES",
    "MAX_BODY_VALUES",
    "MAX_RESULT_BYTES",
    "BATCH_LIMIT",
    "KEEP_ALIVE",
    "TOOL_TIMEOUT",
    "INPUT_TIMEOUT",
    "STREAM_LIMIT",
    "STREAM_EVENTS",
    "STREAM_EVENT_TTL",
    "PAGE_SIZE",
    "SESSION_TTL",
    "SESSION_LIMIT",
    "ACCOUNT_TOKENS",
)
_NOT_NEGATIVE: Final = (
    "NUM_PROXIES",
    "WORKERS",
    "LIST_TTL_MS",
    "LIST_TOKENS_WARNING",
    "LAST_USED_INTERVAL",
    "ROTATION_GRACE",
)
_OPTIONAL: Final = ("TOKEN_MAX_DAYS", "ROTATE_AFTER_DAYS", "ACCOUNT_MAX_DAYS", "MAX_QUERIES")
_RATES: Final = ("FAILED_AUTH_RATE", "UNAUTHENTICATED_ROWS")
_FLAGS: Final = (
    "ENABLED",
    "ALLOW_ANONYMOUS",
    "ALLOW_QUERY_TOKEN",
    "CORS",
    "THROTTLE_FAIL_OPEN",
    "LENIENT_ARGUMENTS",
    "LEGACY_SESSIONS",
    "AUDIT_REQUIRED",
)
_PATHS: Final = (
    "AUTHENTICATION_CLASSES",
    "DEFAULT_PERMISSION_CLASSES",
    "DEFAULT_THROTTLE_CLASSES",
    "SERVER_INFO",
    "LIST_TOOLS",
    "BEFORE_CALL",
    "ON_CALL",
)


@lru_cache(maxsize=256)
def _imported(path: str) -> Any:
    return import_string(path)


def _loaded(items: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(_imported(item) if isinstance(item, str) else item for item in items)


class Settings:
    """`MCP_APP` by attribute: `settings.PAGE_SIZE`. Tests override it like any Django setting."""

    def __getattr__(self, name: str) -> Any:
        try:
            default = DEFAULTS[name]
        except KeyError:
            raise AttributeError(f"MCP_APP has no setting {name!r}") from None
        # Python finds it there by itself from now on: a request reads some forty.
        value = vars(self)[name] = self.raw.get(name, default)
        return value

    @property
    def raw(self) -> Mapping[str, Any]:
        """The dict as the project wrote it."""
        configured: Mapping[str, Any] = getattr(django_settings, "MCP_APP", {})
        return configured

    @cached_property
    def enabled(self) -> bool:
        """Off answers a bare 404 to everything."""
        return bool(self.ENABLED)

    @cached_property
    def versions(self) -> tuple[ProtocolVersion, ...]:
        """The revisions that are served, newest first."""
        return tuple(version for version in VERSIONS if version.name in self.VERSIONS)

    @property
    def server_info(self) -> Mapping[str, Any]:
        """The `Implementation` object that names this server."""
        info = {"name": self.SERVER_NAME, "version": str(self.SERVER_VERSION)}
        return info | ({"title": str(self.SERVER_TITLE)} if self.SERVER_TITLE else {})

    @cached_property
    def authentication_classes(self) -> tuple[type, ...]:
        """DRF authentication classes, asked in order but for ours, which come first."""
        return self._classes("AUTHENTICATION_CLASSES")

    @cached_property
    def permission_classes(self) -> tuple[type, ...]:
        """For tools that name none."""
        return self._classes("DEFAULT_PERMISSION_CLASSES")

    @cached_property
    def throttle_classes(self) -> tuple[type, ...]:
        """For tools that name none."""
        return self._classes("DEFAULT_THROTTLE_CLASSES")

    def hooks(self, name: str) -> tuple[Any, ...]:
        """The functions under one of `HOOKS`, in order."""
        stated = getattr(self, name)
        if not stated:
            return ()
        return _loaded(stated if isinstance(stated, list | tuple) else [stated])

    @cached_property
    def origin_check(self) -> Callable[[str], bool] | None:
        """Asked for an Origin that no list admits."""
        check: Callable[[str], bool] | str | None = self.ORIGIN_CHECK
        return _imported(check) if isinstance(check, str) else check

    @cached_property
    def server_info_hooks(self) -> tuple[Any, ...]:
        """Hooks that say what a caller is told of the server, in order."""
        return self.hooks("SERVER_INFO")

    @cached_property
    def list_tools(self) -> tuple[Any, ...]:
        """Hooks that narrow which tools a caller sees, in order."""
        return self.hooks("LIST_TOOLS")

    @cached_property
    def before_call(self) -> tuple[Any, ...]:
        """Hooks that are asked before a tool runs, in order."""
        return self.hooks("BEFORE_CALL")

    @cached_property
    def session_ttl(self) -> timedelta:
        """How long a legacy session may idle."""
        return timedelta(seconds=self.SESSION_TTL)

    def forget(self, *, setting: str, **kwargs: Any) -> None:
        """Read anew: a setting of Django's has changed."""
        if setting == "MCP_APP":
            vars(self).clear()

    def _classes(self, name: str) -> tuple[Any, ...]:
        return _loaded(getattr(self, name))


settings: Final = Settings()
setting_changed.connect(settings.forget)


def validate() -> None:
    """Refuse settings that cannot be right.

    Raises:
        ImproperlyConfigured: with one sentence that says what to write.
    """
    if not isinstance(settings.raw, Mapping):
        raise ImproperlyConfigured("MCP_APP must be a dict, such as {'SERVER_NAME': 'shop'}.")
    _validate_versions()
    _validate_numbers()
    _validate_scopes()
    _validate_origins()
    _validate_rates()
    _validate_token_header()
    for name in _PATHS:
        _validate_paths(name)
    if settings.AUDIT_ARGUMENTS not in AUDIT_LEVELS:
        raise ImproperlyConfigured(
            f"MCP_APP['AUDIT_ARGUMENTS'] must be one of {', '.join(AUDIT_LEVELS)}."
        )
    keys = settings.SEAL_KEYS
    if isinstance(keys, str) or not all(isinstance(key, str) and key for key in keys):
        raise ImproperlyConfigured("MCP_APP['SEAL_KEYS'] must be a list of texts, newest first.")
    alias = settings.AUDIT_DATABASE
    if alias is not None and alias not in django_settings.DATABASES:
        raise ImproperlyConfigured(
            f"MCP_APP['AUDIT_DATABASE'] is {alias!r}; write an alias of DATABASES."
        )


def _validate_versions() -> None:
    unknown = [name for name in settings.VERSIONS if name not in BY_NAME]
    if unknown or not settings.VERSIONS:
        raise ImproperlyConfigured(
            f"MCP_APP['VERSIONS'] must list revisions among {', '.join(BY_NAME)};"
            f" it has {', '.join(map(repr, unknown)) or 'none'}."
        )


def _validate_numbers() -> None:
    for name in (*_POSITIVE, *_NOT_NEGATIVE):
        value = getattr(settings, name)
        least = "more than 0" if name in _POSITIVE else "0 or more"
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ImproperlyConfigured(f"MCP_APP['{name}'] must be a number, {least}.")
        if value < 0 or (value == 0 and name in _POSITIVE):
            raise ImproperlyConfigured(f"MCP_APP['{name}'] is {value}; write {least}.")
    for name in _OPTIONAL:
        value = getattr(settings, name)
        number = isinstance(value, int) and not isinstance(value, bool) and value > 0
        if value is not None and not number:
            raise ImproperlyConfigured(f"MCP_APP['{name}'] must be None, or more than 0.")
    for name in _FLAGS:
        if not isinstance(getattr(settings, name), bool):
            raise ImproperlyConfigured(f"MCP_APP['{name}'] must be True or False.")


def _validate_scopes() -> None:
    scopes = settings.SCOPES
    if not isinstance(scopes, Mapping):
        raise ImproperlyConfigured(
            "MCP_APP['SCOPES'] must map each scope to its description,"
            " such as {'orders:write': 'Change orders'}."
        )
    for scope, stated in scopes.items():
        # RFC 6749 section 3.3: printable ASCII without the space, the quote and the backslash.
        if (
            not isinstance(scope, str)
            or not scope
            or any(c in ' "\\' or not "!" <= c <= "~" for c in scope)
        ):
            raise ImproperlyConfigured(f"MCP_APP['SCOPES'] has {scope!r}, which is no scope name.")
        _validate_scope(scope, stated)
    own = settings.ACCOUNT_SCOPES
    undeclared = own if isinstance(own, str) else sorted(map(str, set(own) - set(scopes)))
    if undeclared:
        raise ImproperlyConfigured(
            "MCP_APP['ACCOUNT_SCOPES'] must list scopes of MCP_APP['SCOPES'];"
            f" it has {undeclared!r}."
        )


def _validate_scope(scope: str, stated: Any) -> None:
    if not isinstance(stated, Mapping):
        return
    implies = stated.get("implies", [])
    names = isinstance(implies, list | tuple) and all(isinstance(name, str) for name in implies)
    if not names or set(stated) - {"description", "implies"}:
        raise ImproperlyConfigured(
            f"MCP_APP['SCOPES'][{scope!r}] must be a description, or a dict such as"
            " {'description': 'Change orders', 'implies': ['orders:read']}."
        )


def _validate_rates() -> None:
    rates = settings.THROTTLE_RATES
    if not isinstance(rates, Mapping):
        raise ImproperlyConfigured(
            "MCP_APP['THROTTLE_RATES'] must map scopes to rates, such as {'user': '100/min'}."
        )
    named = {f"MCP_APP['THROTTLE_RATES'][{name!r}]": rate for name, rate in rates.items()}
    own = {f"MCP_APP['{name}']": getattr(settings, name) for name in _RATES}
    for name, rate in {**named, **own}.items():
        if rate is not None and not (isinstance(rate, str) and _RATE.fullmatch(rate)):
            raise ImproperlyConfigured(f"{name} is {rate!r}; write one such as '100/min', or None.")
    if settings.THROTTLE_CACHE not in django_settings.CACHES:
        raise ImproperlyConfigured(
            f"MCP_APP['THROTTLE_CACHE'] is {settings.THROTTLE_CACHE!r}; write an alias of CACHES."
        )


def _validate_origins() -> None:
    origins = settings.ALLOWED_ORIGINS
    listed = [] if isinstance(origins, str) else list(origins)
    wrong = [o for o in listed if not isinstance(o, str) or not _ORIGIN.fullmatch(o)]
    if isinstance(origins, str) or wrong:
        raise ImproperlyConfigured(
            "MCP_APP['ALLOWED_ORIGINS'] must list whole origins, such as 'https://app.example';"
            f" it has {(wrong or [origins])[0]!r}. A rule is MCP_APP['ORIGIN_CHECK']."
        )


def _validate_token_header() -> None:
    name = settings.TOKEN_HEADER
    taken = {"authorization", "cookie", "host", "origin"}
    fits = isinstance(name, str) and (not name or _HEADER.fullmatch(name))
    if not fits or name.lower() in taken or name.lower().startswith("mcp-"):
        raise ImproperlyConfigured(
            f"MCP_APP['TOKEN_HEADER'] is {name!r}; write a header of its own, such as 'X-Api-Key'."
        )


def _validate_paths(name: str) -> None:
    value = getattr(settings, name)
    if isinstance(value, str) or not all(isinstance(i, str) or callable(i) for i in value):
        raise ImproperlyConfigured(f"MCP_APP['{name}'] must be a list of dotted paths.")
    if name == "DEFAULT_PERMISSION_CLASSES" and not value:
        raise ImproperlyConfigured(
            "MCP_APP['DEFAULT_PERMISSION_CLASSES'] is empty, which would open every tool;"
            " write ['rest_framework.permissions.AllowAny'] if that is meant."
        )
    for item in value:
        try:
            _imported(item) if isinstance(item, str) else None
        except ImportError as error:
            raise ImproperlyConfigured(f"MCP_APP['{name}'] has {item!r}: {error}") from error
