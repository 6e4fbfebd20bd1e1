"""What permission classes say of one caller: DRF's own without a request, others of DRF's."""

import logging
from collections.abc import Callable, Iterable
from enum import Enum, auto
from functools import lru_cache
from typing import Any, Final

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework.exceptions import APIException
from rest_framework.permissions import (
    AND,
    AllowAny,
    DjangoModelPermissions,
    DjangoModelPermissionsOrAnonReadOnly,
    IsAdminUser,
    IsAuthenticated,
    IsAuthenticatedOrReadOnly,
    OperandHolder,
    SingleOperandHolder,
)

from mcp_app.access.model_permissions import ModelPermissions
from mcp_app.access.view import DeclaredView, UnseenView, is_unseen, method_of
from mcp_app.catalog.definition import Declaration
from mcp_app.conf import settings

logger: Final = logging.getLogger("mcp_app.access")

Classes = tuple[Any, ...]

OPEN: Final = (AllowAny,)
OF_CALLERS: Final = frozenset({AllowAny, IsAdminUser, IsAuthenticated, IsAuthenticatedOrReadOnly})
"""DRF's own that look at the user and the method alone."""
OF_VIEWS: Final = frozenset(
    {DjangoModelPermissions, DjangoModelPermissionsOrAnonReadOnly, ModelPermissions}
)
"""Those, and ours, that look at the view besides, and at nothing else of the request."""


class _Looks(Enum):
    """What some classes together look at."""

    CALLER = auto()
    VIEW = auto()
    REQUEST = auto()
    """The product's own, of which it shows as they are asked whether they look at the view."""
    UNKNOWN = auto()
    """Of those that cannot be hashed nothing is remembered."""


class UserRequest:
    """What classes that look no further are given, so that no request needs to be made."""

    __slots__ = ("method", "user")

    def __init__(self, user: Any, method: str) -> None:
        self.user = user
        self.method = method


class Permissions:
    """Those of one caller, for the length of a request."""

    def __init__(self, user: Any) -> None:
        self._user = user
        self._said: dict[tuple[Classes | None, str], str] = {}
        """Of all that has the same hints: by classes that have not looked at more."""
        self._said_of_models: dict[tuple[Classes, str, Any], str] = {}
        """The same of rows of one model."""
        self._refused: dict[Declaration, str] = {}

    def admit(self, declared: Declaration, request_for: Callable[[Declaration], Any]) -> bool:
        """Whether every permission class of it says yes. Never raises.

        Args:
            request_for: makes DRF's request for what has a declaration's hints.
        """
        by = self._said_of(declared)
        if by is None:
            by = self._refusing(declared, request_for)
        if by:
            self._refused[declared] = by
        return not by

    def verdicts(
        self, declarations: tuple[Declaration, ...], request_for: Callable[[Declaration], Any]
    ) -> dict[Declaration, bool]:
        """What `admit` says of each of them, asked together."""
        if len(declarations) == 1:
            return {declarations[0]: self.admit(declarations[0], request_for)}
        found: dict[Declaration, bool] = {}
        for alike in _alike(declarations):
            found[alike[0]] = self.admit(alike[0], request_for)
            by = self._said_of(alike[0])
            if by is None:
                found |= {declared: self.admit(declared, request_for) for declared in alike[1:]}
                continue
            found |= dict.fromkeys(alike, not by)
            if by:
                self._refused |= dict.fromkeys(alike, by)
        return found

    def refused_by(self, declared: Declaration) -> str:
        """The class that said no when `admit` last asked; empty where none did."""
        return self._refused.get(declared, "")

    def _said_of(self, declared: Declaration) -> str | None:
        """What its classes have said of all that has its hints; None where they have not."""
        try:
            return self._said.get((declared.permission_classes, method_of(declared)))
        except TypeError:  # a class of the product's that cannot be hashed
            return None

    def _refusing(self, declared: Declaration, request_for: Callable[[Declaration], Any]) -> str:
        """The first class that says no; empty where none does."""
        own, method = declared.permission_classes, method_of(declared)
        classes = settings.permission_classes if own is None else own
        looks = _looks_of(classes)
        model = getattr(declared.queryset, "model", None) if looks is _Looks.VIEW else None
        if model is not None and (classes, method, model) in self._said_of_models:
            return self._said_of_models[classes, method, model]
        said, is_shared = self._ask(declared, classes, looks, request_for)
        if model is not None:
            self._said_of_models[classes, method, model] = said
        elif is_shared:
            self._said[own, method] = said
        return said

    def _ask(
        self,
        declared: Declaration,
        classes: Classes,
        looks: _Looks,
        request_for: Callable[[Declaration], Any],
    ) -> tuple[str, bool]:
        """The first class that says no, and whether that holds for all that has the same hints."""
        asked, said = classes[0], ""
        view: DeclaredView | None = None
        try:
            if looks in (_Looks.CALLER, _Looks.VIEW):
                request: Any = UserRequest(self._user, method_of(declared))
            else:
                request = request_for(declared)
            view = UnseenView(declared, request)
            for asked in classes:
                if not asked().has_permission(request, view):
                    said = class_text(asked)
                    break
        except (APIException, Http404, PermissionDenied):
            said = class_text(asked)
        except BaseException:
            # A gate that breaks stays shut, and one broken gate hides nothing else.
            logger.exception("A permission class of %s %r failed", declared.noun, declared.key)
            return class_text(asked), False
        return said, looks is not _Looks.UNKNOWN and is_unseen(view)


def class_text(cls: Any) -> str:
    """A class by its name, and what `&`, `|` and `~` made of classes as it was written."""
    if isinstance(cls, SingleOperandHolder):
        return f"~{class_text(cls.op1_class)}"
    if isinstance(cls, OperandHolder):
        kind: object = cls.operator_class
        sign = "&" if kind is AND else "|"
        return f"({class_text(cls.op1_class)} {sign} {class_text(cls.op2_class)})"
    return str(getattr(cls, "__name__", cls))


def classes_of(declared: Declaration) -> Classes:
    """Its permission classes, or the project's."""
    own = declared.permission_classes
    return settings.permission_classes if own is None else own


def are_open(declarations: Iterable[Declaration]) -> bool:
    """Whether each admits everybody and asks for no scope."""
    return _are_open(tuple(declarations), settings.permission_classes == OPEN)


@lru_cache(maxsize=32)
def _are_open(declarations: tuple[Declaration, ...], is_default: bool) -> bool:
    """What they state does not change; `is_default` is whether the project's classes are open."""
    return all(
        (is_default if declared.permission_classes is None else declared.permission_classes == OPEN)
        and not declared.scopes
        for declared in declarations
    )


@lru_cache(maxsize=32)
def _alike(declarations: tuple[Declaration, ...]) -> tuple[tuple[Declaration, ...], ...]:
    """Those of the same classes and hints together, as they were declared."""
    found: dict[Any, list[Declaration]] = {}
    for declared in declarations:
        key: Any = (declared.permission_classes, method_of(declared))
        try:
            found.setdefault(key, []).append(declared)
        except TypeError:  # a class of the product's that cannot be hashed
            found[declared] = [declared]
    return tuple(map(tuple, found.values()))


def _looks_of(classes: Classes) -> _Looks:
    try:
        return _looks(classes)
    except TypeError:
        return _Looks.UNKNOWN


@lru_cache(maxsize=1024)
def _looks(classes: Classes) -> _Looks:
    if OF_CALLERS.issuperset(classes):
        return _Looks.CALLER
    return _Looks.VIEW if (OF_CALLERS | OF_VIEWS).issuperset(classes) else _Looks.REQUEST
