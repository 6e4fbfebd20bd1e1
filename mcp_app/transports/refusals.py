"""The log's word on gates that refuse: one line a kind and process, with all that decided it.

Whoever set a gate wrongly finds the reason there, and whoever knocks in vain cannot fill a disk.
The kinds are the classes of errors, never anything that a request holds.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from django.conf import settings as django_settings

from mcp_app.audit.keys import secret_keys
from mcp_app.audit.text import redact_text
from mcp_app.conf import settings
from mcp_app.protocol import errors
from mcp_app.protocol.headers import SESSION_ID
from mcp_app.transports.incoming import Incoming

logger: Final = logging.getLogger("mcp_app.gates")

Fields = Mapping[str, Any]

_MOST_SHOWN: Final = 200
"""Characters of one value."""
_noted: Final[set[type[errors.ProtocolError]]] = set()
_lock: Final = threading.Lock()


def note(error: errors.ProtocolError, incoming: Incoming) -> None:
    """Log the refusal, unless one of its kind has been logged."""
    if _is_first(error):
        decided = _DECIDED.get(type(error), _nothing_more)(error, incoming)
        _log(error, {**_asked(incoming), **decided})


def note_unreadable(error: errors.ProtocolError, headers: Mapping[str, str]) -> None:
    """The same of a request that Django could not even make an object of."""
    if _is_first(error):
        _log(error, {"content_type": headers.get("content-type")})


def forget() -> None:
    """Log every kind once more, as after a start."""
    _noted.clear()


def _is_first(error: errors.ProtocolError) -> bool:
    with _lock:
        known = type(error) in _noted
        _noted.add(type(error))
    return not known


def _log(error: errors.ProtocolError, fields: Fields) -> None:
    told = ", ".join(f"{name}={_shown(value)}" for name, value in fields.items())
    logger.warning(
        "A request was refused: %s (%s: %s). Others of this kind are not logged any more.",
        error.message,
        type(error).__name__,
        told,
    )


def _shown(value: Any) -> str:
    return (
        repr(redact_text(value, secret_keys(), limit=_MOST_SHOWN))
        if isinstance(value, str)
        else repr(value)
    )


# --- what decides --------------------------------------------------------------------------------


def _asked(incoming: Incoming) -> Fields:
    request = incoming.request
    return {
        "method": incoming.method,
        "path": request.path,
        "transport": incoming.transport,
        "address": incoming.address,
    }


def _host(error: errors.ProtocolError, incoming: Incoming) -> Fields:
    return {
        "host": incoming.headers.get("host"),
        "x_forwarded_host": incoming.headers.get("x-forwarded-host"),
        "USE_X_FORWARDED_HOST": django_settings.USE_X_FORWARDED_HOST,
        "ALLOWED_HOSTS": django_settings.ALLOWED_HOSTS,
    }


def _origin(error: errors.ProtocolError, incoming: Incoming) -> Fields:
    return {
        "origin": incoming.headers.get("origin"),
        "scheme": incoming.request.scheme,
        **_host(error, incoming),
        "ALLOWED_ORIGINS": settings.ALLOWED_ORIGINS,
        "ORIGIN_CHECK": settings.ORIGIN_CHECK,
        "DEBUG": django_settings.DEBUG,
    }


def _method(error: errors.ProtocolError, incoming: Incoming) -> Fields:
    return {
        "allowed": error.headers["Allow"],
        "streams": incoming.streams,
        "has_session": SESSION_ID in incoming.headers,
        "LEGACY_SESSIONS": settings.LEGACY_SESSIONS,
        "VERSIONS": [version.name for version in settings.versions],
        "CORS": settings.CORS,
    }


def _size(error: errors.ProtocolError, incoming: Incoming) -> Fields:
    return {
        "content_length": incoming.headers.get("content-length"),
        "transfer_encoding": incoming.headers.get("transfer-encoding"),
        "MAX_BODY_BYTES": settings.MAX_BODY_BYTES,
    }


def _media_type(error: errors.ProtocolError, incoming: Incoming) -> Fields:
    return {
        "content_type": incoming.headers.get("content-type"),
        "content_encoding": incoming.headers.get("content-encoding"),
    }


def _accept(error: errors.ProtocolError, incoming: Incoming) -> Fields:
    return {"accept": incoming.headers.get("accept")}


def _nothing_more(error: errors.ProtocolError, incoming: Incoming) -> Fields:
    return {}


_DECIDED: Final[Mapping[type[errors.ProtocolError], Callable[..., Fields]]] = {
    errors.BadHost: _host,
    errors.Forbidden: _origin,
    errors.MethodNotAllowed: _method,
    errors.PayloadTooLarge: _size,
    errors.LengthRequired: _size,
    errors.UnsupportedMediaType: _media_type,
    errors.NotAcceptable: _accept,
}
