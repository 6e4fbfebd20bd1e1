"""What a viewset's actions are, take and give, found out at start-up from an instance of it."""

from collections.abc import Mapping
from inspect import iscoroutinefunction
from typing import Annotated, Any, Final

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from pydantic import Field
from rest_framework.request import Request
from rest_framework.viewsets import ViewSetMixin

from mcp_app.catalog.problems import Problem, Refused
from mcp_app.catalog.signature import UNSTATED, Parameter
from mcp_app.integrations import columns, given, querying, taken, texts
from mcp_app.integrations.exposed import Action, subclass
from mcp_app.integrations.requests import Notes, WatchedDict, WatchedRequest
from mcp_app.integrations.serializers import described, parameters_of

_METHODS: Final = {
    "list": ("GET", False),
    "create": ("POST", False),
    "retrieve": ("GET", True),
    "update": ("PUT", True),
    "partial_update": ("PATCH", True),
    "destroy": ("DELETE", True),
}
_WRITING: Final = ("create", "update", "partial_update")
_NOWHERE: Final = "no action of this name"


def action_of(viewset: Any, name: str) -> Action:
    """The action of that name.

    Raises:
        Refused: there is none, or no tool can be made of it.
    """
    if not (isinstance(viewset, type) and issubclass(viewset, ViewSetMixin)):
        raise Refused(
            Problem.VIEWSET,
            f"{getattr(viewset, '__name__', viewset)} is not a viewset",
            "Give a class that has ViewSetMixin among its bases, such as ModelViewSet.",
        )
    found = _actions(viewset)
    if name not in found:
        known = ", ".join(sorted(found)) or "none"
        raise Refused(
            Problem.VIEWSET, f"{viewset.__name__} has no action {name!r}", f"It has {known}."
        )
    methods, detail, initkwargs = found[name]
    if len(methods) > 1:
        raise Refused(
            Problem.VIEWSET,
            f"the action {name!r} answers {', '.join(methods)}, and a tool does one thing",
            "Give each method a function of its own, by @action(…) and .mapping.",
        )
    if iscoroutinefunction(getattr(viewset, name)):
        raise Refused(Problem.VIEWSET, f"the action {name!r} is async", "Write a sync one.")
    return Action(subclass(viewset), name, methods[0], detail, initkwargs)


def _actions(viewset: Any) -> dict[str, tuple[list[str], bool, Mapping[str, Any]]]:
    """Each action's methods, whether it is of one row, and what its view is made with."""
    usual = {n: ([m], d, {"detail": d}) for n, (m, d) in _METHODS.items() if hasattr(viewset, n)}
    extra: dict[str, tuple[list[str], bool, Mapping[str, Any]]] = {}
    for function in viewset.get_extra_actions():
        for method, name in function.mapping.items():
            initkwargs = {"detail": function.detail, **function.kwargs}
            methods = extra.setdefault(name, ([], function.detail, initkwargs))[0]
            methods.append(method.upper())
    return {**usual, **extra}


class Plan:
    """What is known of an action before any call."""

    def __init__(self, action: Action, url_kwargs: Mapping[str, Any]) -> None:
        """Raises Refused where what it takes cannot be told."""
        self.action = action
        self._notes = Notes()
        self.view = self._view(action)
        self.serializer = self._serializer()
        self.query = querying.query_of(self.view) if action.name == "list" else ()
        lookup = self._lookup() if action.detail else ()
        self.kwargs = (*(Parameter(n, a) for n, a in url_kwargs.items()), *lookup)
        self.body = self._body()
        self._check_names()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The tool's arguments: the path's, the query's, the body's."""
        return (*self.kwargs, *self.query, *self.body)

    @property
    def noun(self) -> str:
        """What a row is called."""
        model = self._model()
        return "row" if model is None else str(model._meta.verbose_name)

    @property
    def output(self) -> Any:
        """What the action gives, where DRF's own code gives it; else nothing is promised."""
        name, viewset = self.action.name, self.action.viewset
        own = (name, "get_serializer", "finalize_response", "paginate_queryset")
        if self.serializer is None or name not in _METHODS:
            return UNSTATED
        if not all(_drfs(viewset, method) for method in own):
            return UNSTATED
        try:
            item = given.annotation(self.serializer)
        except Exception:
            return UNSTATED
        if self._notes.looked or name == "destroy":
            return UNSTATED
        if name != "list":
            return item
        page = querying.page_of(self.view, item)
        return UNSTATED if page is None else page

    def _view(self, action: Action) -> Any:
        def nobody() -> Request:
            bare = HttpRequest()
            bare.user = AnonymousUser()
            request = Request(bare)
            request.user = bare.user
            return request

        view = action.view(WatchedRequest(self._notes, nobody), WatchedDict(self._notes))
        # By this mark, views know that somebody asks who has no request: schema generators set it.
        view.swagger_fake_view = True
        return view

    def _serializer(self) -> Any:
        """What the action's view serializes with; None where it has none, or only at a call."""
        if not hasattr(self.view, "get_serializer"):
            return None
        partial = self.action.method == "PATCH"
        if self.action.name in _WRITING or self._names_its_serializer():
            return described(lambda: self.view.get_serializer(partial=partial))
        try:
            return self.view.get_serializer() if self.action.name in _METHODS else None
        except Exception:
            return None

    def _names_its_serializer(self) -> bool:
        """Whether an extra action that sends something has a serializer that is not the viewset's.

        Many take nothing, though the viewset's serializer is there for the asking.
        """
        if self.action.name in _METHODS or self.action.method not in ("POST", "PUT", "PATCH"):
            return False
        if "serializer_class" in self.action.initkwargs:
            return self.action.initkwargs["serializer_class"] is not None
        other = self._view(self.action)
        other.action = _NOWHERE
        return bool(described(lambda: _class(self.view) is not _class(other)))

    def _body(self) -> tuple[Parameter, ...]:
        name = self.action.name
        if name in _WRITING and self.serializer is None:
            raise Refused(
                Problem.VIEWSET,
                f"what the action {name!r} takes is not known: its view has no serializer",
                "Write a function with typed parameters that does the same.",
            )
        if self.serializer is None or (name in _METHODS and name not in _WRITING):
            return ()
        found: tuple[Parameter, ...] = described(lambda: parameters_of(self.serializer))
        if self._notes.looked:
            raise Refused(
                Problem.VIEWSET,
                f"what the action {name!r} takes depends on the request",
                "Choose the serializer and its fields by self.action alone, in a subclass at need.",
            )
        return found

    def _lookup(self) -> tuple[Parameter, ...]:
        view = self.view
        field = getattr(view, "lookup_field", "pk")
        name = getattr(view, "lookup_url_kwarg", None) or field
        model = self._model()
        column = columns.column(model, field) if model is not None else None
        by = "id" if field in ("pk", "id") else field
        told = Field(description=f"The {by} of the {self.noun}.")
        kind = taken.of_column(column)
        if kind is str:
            regex = getattr(view, "lookup_value_regex", None) or "[^/.]+"
            kind = texts.matching([(f"^{regex}$", f"should match the pattern {regex}")])
        return (Parameter(name, Annotated[kind, told]),)

    def _model(self) -> Any:
        queryset = getattr(self.view, "queryset", None)
        if queryset is not None:
            return queryset.model
        return getattr(getattr(self.serializer, "Meta", None), "model", None)

    def _check_names(self) -> None:
        names = [parameter.name for parameter in self.parameters]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise Refused(
                Problem.VIEWSET,
                f"two arguments would be called {', '.join(twice)}",
                "Where one of them names the row, give the viewset another lookup_url_kwarg.",
            )


def _class(view: Any) -> Any:
    return view.get_serializer_class()


def _drfs(viewset: Any, name: str) -> bool:
    """Whether a method is DRF's own; also where there is none."""
    function = getattr(viewset, name, None)
    return function is None or function.__module__.startswith("rest_framework.")
