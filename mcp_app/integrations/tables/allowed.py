"""The fields of a model that tools may name: an allow-list, each entry of which is one column."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Model
from django.db.models.constants import LOOKUP_SEP

from mcp_app.catalog.problems import Problem, Refused
from mcp_app.integrations import columns

_EVERYTHING: Final = "__all__"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a model, or of a row that it refers to.

    Attributes:
        path: as the allow-list has it, such as `number` or `customer__name`.
        field: the model field at its end.
        stored: the field that says what its values are: of a relation, the one it refers by.
        is_null: whether there may be no value.
        words: what it is called in a sentence.
    """

    path: str
    field: Any
    stored: Any
    is_null: bool
    words: str

    @property
    def relation(self) -> str:
        """The way to the row that has it; empty where that is the row itself."""
        return self.path.rpartition(LOOKUP_SEP)[0]

    @property
    def attribute(self) -> str:
        """The path of its value: no ordering of a related model's comes with it."""
        return LOOKUP_SEP.join([*filter(None, [self.relation]), self.field.attname])


def checked_model(model: Any) -> Any:
    """`model`, where it has rows. Raises Refused."""
    if isinstance(model, type) and issubclass(model, Model) and not model._meta.abstract:
        return model
    raise refused(f"{getattr(model, '__name__', model)} is no model with a table", "Give a model.")


def listed(names: Any, keyword: str) -> list[str]:
    """The names that a keyword lists, each once. Raises Refused."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        told = f"{keyword} is {names!r} and not a list"
        if names == _EVERYTHING:
            raise refused(told, "Name each field: what is added to the model later is not shown.")
        raise refused(told, f'Write {keyword}=["…"].')
    return list(dict.fromkeys(names))


def allowed(model: Any, names: Any, keyword: str = "fields") -> dict[str, Column]:
    """The columns of those names. Raises Refused."""
    return {name: column(model, name, keyword) for name in listed(names, keyword)}


def column(model: Any, name: Any, keyword: str) -> Column:
    """The column that a path of relations to one row each ends at. Raises Refused."""
    found: Any = None
    owner, is_null, words = model, False, []
    for part in str(name).split(LOOKUP_SEP):
        found = _field(owner, part)
        if found is None:
            raise refused(
                f"{keyword} has {name!r}, which is no column of {model.__name__}",
                "Name its own columns, and by relation__column those of rows that it refers to;"
                " rows that refer to it have tools of their own.",
            )
        is_null = is_null or bool(found.null)
        words.append(str(found.verbose_name))
        owner = found.related_model
    stored = columns.column(model, str(name))
    if issubclass(found.model, AbstractBaseUser) and found.name == "password":
        raise refused(f"{keyword} has {name!r}, a password's hash", "Leave it out.")
    return Column(str(name), found, stored, is_null, " ".join(words))


def _field(model: Any, name: str) -> Any:
    """A column of one value; of a relation, the one that refers to one row."""
    try:
        found: Any = model._meta.get_field(name) if model is not None else None
    except FieldDoesNotExist:
        return None
    # Of many rows, of a composite key and of generic relations there is no one column.
    if getattr(found, "column", None) is None or found.many_to_many:
        return None
    # Django takes `customer_id` for `customer` as well.
    return found if found.name == name else None


def refused(message: str, hint: str) -> Refused:
    """A declaration over a model that cannot be kept."""
    return Refused(Problem.MODEL, message, hint)
