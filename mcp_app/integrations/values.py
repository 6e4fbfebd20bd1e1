"""Django's values and exceptions in the catalogue's terms."""

from typing import Any, Final

from django.core.exceptions import (
    NON_FIELD_ERRORS,
    ObjectDoesNotExist,
    PermissionDenied,
    ValidationError,
)
from django.db.models import Model, QuerySet
from django.http import Http404
from django.utils.functional import Promise
from rest_framework.exceptions import APIException
from rest_framework.exceptions import NotFound as DRFNotFound

from mcp_app.catalog.encoding import register_encoder
from mcp_app.catalog.errors import Unencodable, register_missing
from mcp_app.integrations.refusals import problems
from mcp_app.work.read_only import ReadOnlyViolation

_NOT_FOUND: Final = "Not found."


def register() -> None:
    """Teach the catalogue what Django's own types and exceptions are."""
    register_missing(Http404, ObjectDoesNotExist, DRFNotFound)
    register_encoder(Promise, str)
    register_encoder(QuerySet, list)
    register_encoder(Model, _refuse_model)


def _refuse_model(value: Any) -> Any:
    """A row has columns that nobody chose to publish: rows are sent by explicit fields only."""
    raise Unencodable(type(value).__name__)


def explain(error: BaseException) -> str | None:
    """What an exception says to the model, or None where its text was not meant for anybody."""
    match error:
        case ValidationError():
            return _validation_text(error)
        case APIException():
            return _detail_text(error.detail)
        case Http404():
            return str(error) or _NOT_FOUND
        case ObjectDoesNotExist():
            return _NOT_FOUND
        case ReadOnlyViolation():
            return str(error)
        case PermissionDenied():
            return str(error) or "You may not do this."
    return None


def _validation_text(error: ValidationError) -> str:
    if not hasattr(error, "error_dict"):
        return " ".join(error.messages)
    return "; ".join(
        _named(field, " ".join(messages)) for field, messages in error.message_dict.items()
    )


def _named(field: str, text: str) -> str:
    return text if field in (NON_FIELD_ERRORS, "") else f"{field}: {text}"


def _detail_text(detail: Any) -> str:
    return "; ".join(_named(path, told) for path, told in problems(detail))
