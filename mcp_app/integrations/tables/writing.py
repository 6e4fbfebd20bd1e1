"""Rows made, changed and deleted for a caller: validated as the model is, and kept within sight."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from django.contrib.auth import get_permission_codename
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import DataError, IntegrityError, transaction
from django.db.models import ProtectedError, RestrictedError
from django.db.models.deletion import Collector
from django.db.models.fields import NOT_PROVIDED
from rest_framework import serializers
from rest_framework.settings import api_settings
from rest_framework.validators import UniqueValidator

from mcp_app.catalog.errors import ArgumentsInvalid, ToolError
from mcp_app.integrations.refusals import problems
from mcp_app.integrations.serializers import context_of, validated
from mcp_app.integrations.tables.allowed import Column, refused

RELATED: Final = "mcp_app.related"
"""Where a serializer's context has what narrows the rows that a caller may refer to."""
_CONFLICT: Final = "It is in conflict with other rows, or with a rule of the database."


class _OfCaller:
    """Mixed into the fields that refer to a row."""

    def get_queryset(self) -> Any:
        """The rows that may be referred to."""
        queryset = super().get_queryset()  # type: ignore[misc]
        narrow = self.context.get(RELATED)  # type: ignore[attr-defined]
        return queryset if narrow is None else narrow(self.source, queryset)  # type: ignore[attr-defined]


class _ByKey(_OfCaller, serializers.PrimaryKeyRelatedField[Any]):
    pass


class _BySlug(_OfCaller, serializers.SlugRelatedField[Any]):
    pass


class Written(serializers.ModelSerializer[Any]):
    """Takes columns one by one; what they are together, the model's own `full_clean` judges."""

    serializer_related_field = _ByKey
    serializer_related_to_field = _BySlug

    def build_standard_field(self, field_name: str, model_field: Any) -> Any:
        """Without a look for the same value in another row; the database's default is one, too."""
        cls, kwargs = super().build_standard_field(field_name, model_field)
        if _has_db_default(model_field):
            kwargs["required"] = False
        return cls, _without_uniqueness(kwargs)

    def build_relational_field(self, field_name: str, relation_info: Any) -> Any:
        """As above."""
        cls, kwargs = super().build_relational_field(field_name, relation_info)
        return cls, _without_uniqueness(kwargs)

    def get_uniqueness_extra_kwargs(self, *args: Any) -> Any:
        """What is unique together needs no further fields."""
        return args[2], {}


def written(model: Any, columns: Iterable[Column], secret: Collection[str]) -> Any:
    """The serializer class that takes these columns of a row. Raises Refused."""
    names = [_writable(model, column) for column in columns]
    extra = {name: {"write_only": True} for name in names if name in secret}
    meta = {"model": model, "fields": names, "extra_kwargs": extra, "validators": []}
    return type(f"{model.__name__}Written", (Written,), {"Meta": type("Meta", (), meta)})


def unset(model: Any, names: Collection[str]) -> list[str]:
    """The columns that a new row needs, and that nobody gives a value."""
    return [
        field.name
        for field in model._meta.concrete_fields
        if field.name not in names and not _is_made(field)
    ]


def read(serializer: Any, context: Any, sent: Mapping[str, Any], narrow: Any, **also: Any) -> Any:
    """What is to be written, of arguments that fit the schema. Raises ArgumentsInvalid."""
    told = context_of(context) | {RELATED: narrow}
    return validated(serializer(data=dict(sent), context=told, **also))


def held(row: Any) -> dict[str, Any]:
    """The values of a row's own columns, but for those that the database computes."""
    columns = (field for field in row._meta.concrete_fields if not field.generated)
    return {field.name: getattr(row, field.attname) for field in columns}


def store(row: Any, untouched: Iterable[str], save: Callable[[], None], using: str) -> None:
    """Validate a row by its model, and save it in that database.

    Raises:
        ArgumentsInvalid: naming each column that the model does not take.
        ToolError: the database does not take it.
    """
    try:
        row.full_clean(exclude=set(untouched), validate_unique=False, validate_constraints=False)
        row.validate_unique()
        row.validate_constraints()
    except ValidationError as error:
        raise ArgumentsInvalid(list(problems(_by_field(error)))) from None
    try:
        # Of its own, as a statement that is refused ends its transaction on PostgreSQL.
        with transaction.atomic(using=using):
            save()
    except (IntegrityError, DataError):
        raise ToolError(_CONFLICT) from None


def remove(row: Any, user: Any, delete: Callable[[], None]) -> None:
    """Delete a row, and with it only what `user` may delete.

    Raises:
        ToolError: other rows refer to it, that may not go or not by this user.
    """
    try:
        lacking = [model for model in _taken_along(row) if not _may_delete(user, model)]
        if not lacking:
            delete()
    except ProtectedError as error:
        raise _held(error.protected_objects) from None
    except RestrictedError as error:
        raise _held(error.restricted_objects) from None
    except IntegrityError:
        raise ToolError(_CONFLICT) from None
    if lacking:
        names = _named(lacking)
        raise ToolError(
            f"It cannot be deleted: {names} would go with it, which you may not delete."
        )


def _held(rows: Iterable[Any]) -> ToolError:
    names = _named({type(row) for row in rows})
    return ToolError(f"It cannot be deleted while {names} refer to it.")


def _writable(model: Any, column: Column) -> str:
    if column.relation or not column.field.editable or column.field.primary_key:
        raise refused(
            f"writable has {column.path!r}, which no caller can set",
            f"Name columns of {model.__name__} that its forms may have.",
        )
    return column.path


def _is_made(field: Any) -> bool:
    made = ("auto_now", "auto_now_add", "generated")
    return (
        field.null
        or field.blank
        or field.has_default()
        or _has_db_default(field)
        or getattr(field, "parent_link", False)
        or bool(field.remote_field and getattr(field.remote_field, "parent_link", False))
        or any(getattr(field, name, False) for name in made)
    )


def _has_db_default(field: Any) -> bool:
    return field.db_default is not NOT_PROVIDED


def _without_uniqueness(kwargs: dict[str, Any]) -> dict[str, Any]:
    rules = [each for each in kwargs.get("validators", ()) if not isinstance(each, UniqueValidator)]
    return kwargs | {"validators": rules} if "validators" in kwargs else kwargs


def _by_field(error: ValidationError) -> dict[str, Any]:
    of_all = api_settings.NON_FIELD_ERRORS_KEY
    found = error.message_dict
    return {of_all if name == NON_FIELD_ERRORS else name: told for name, told in found.items()}


def _taken_along(row: Any) -> list[Any]:
    """The other models whose rows a deletion reaches. Raises ProtectedError, RestrictedError."""
    collector = Collector(using=row._state.db, origin=row)
    collector.collect([row])
    reached = {model for model, rows in collector.data.items() if rows}
    reached |= {rows.model for rows in collector.fast_deletes if rows.exists()}
    own = {type(row)._meta.concrete_model, *type(row)._meta.get_parent_list()}
    return sorted(
        (m for m in reached if m._meta.concrete_model not in own and not m._meta.auto_created),
        key=lambda model: str(model._meta.label),
    )


def _may_delete(user: Any, model: Any) -> bool:
    codename = get_permission_codename("delete", model._meta)
    return bool(user.has_perm(f"{model._meta.app_label}.{codename}"))


def _named(models: Iterable[Any]) -> str:
    return ", ".join(sorted(str(model._meta.verbose_name_plural) for model in models))
