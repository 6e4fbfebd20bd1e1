"""Pages of the admin beyond the models' own: where they hang, who may open them, how they look.

They hang from a `ModelAdmin`, so they come along to whichever admin site registers it.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

from django import forms
from django.apps import apps
from django.contrib import admin, messages
from django.contrib.admin.sites import all_sites
from django.core.exceptions import PermissionDenied
from django.db import connections
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.translation import gettext_lazy as _

from mcp_app.auth.hashing import public

LIST: Final = "changelist"
INDEX: Final = "admin/mcp_app/index.html"
CUT: Final = _(
    "A secret was pasted. It was cut to its public prefix, which finds all that it would: a secret "
    "in an address stays in the browser's history and in the logs of servers."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page.

    Attributes:
        slug: its place under the model's address, and the end of its URL's name; `LIST` takes the
            place of the model's list.
        title: what links to it say.
        about: what it answers, in one sentence.
        view: takes the request of somebody who may open it.
        permission: "view" asks `has_view_permission` of the admin, and so on.
        linked: whether it stands among the app's pages; one about a single thing does not.
        atomic: whether `ATOMIC_REQUESTS` holds for it.
    """

    slug: str
    title: Any
    about: Any
    view: Callable[[HttpRequest], HttpResponseBase]
    permission: str = "view"
    linked: bool = True
    atomic: bool = True


@dataclass(frozen=True, slots=True)
class Link:
    """A page that somebody may open."""

    title: Any
    about: Any
    url: str
    current: bool


class PagesAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # no subscript at run time
    """A `ModelAdmin` with more pages: those that `pages()` names."""

    class Media:
        css: ClassVar = {"all": ["mcp_app/admin.css"]}
        js: ClassVar = [forms.Script("mcp_app/public.js", defer=True, **{"data-cut": CUT})]

    def __init__(self, model: Any, admin_site: Any) -> None:
        super().__init__(model, admin_site)
        # Once the site is known, which may be any; one with an index of its own keeps that.
        admin_site.index_template = admin_site.index_template or INDEX

    def pages(self) -> list[Page]:
        """Override to add some: `[*super().pages(), Page(...)]`."""
        return []

    def get_urls(self) -> list[Any]:
        """Each page beside the model's own."""
        return [*map(self.page_path, self.pages()), *super().get_urls()]

    def page_path(self, page: Page) -> Any:
        """A page's entry for `urls`."""
        view: Any = partial(self._open, page)
        if not page.atomic:
            view._non_atomic_requests = set(connections)
        return path(
            "" if page.slug == LIST else f"{page.slug}/",
            self.admin_site.admin_view(view),
            name=f"{self.opts.app_label}_{self.opts.model_name}_{page.slug}",
        )

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """The list, at an address without secrets."""
        return self._without_secret(request) or super().changelist_view(request, extra_context)

    def may_open(self, request: HttpRequest, page: Page) -> bool:
        """Whether the person has the page's permission."""
        return bool(getattr(self, f"has_{page.permission}_permission")(request))

    def page_url(self, slug: str) -> str:
        """The address of a page on this admin site."""
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_{slug}"
        return reverse(name, current_app=self.admin_site.name)

    def missing(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """What Django answers where there is no such row."""
        redirect: Callable[..., HttpResponse] = self._get_obj_does_not_exist_redirect  # type: ignore[attr-defined]
        return redirect(request, self.opts, object_id)

    def page_response(
        self, request: HttpRequest, template: str, title: Any, **context: Any
    ) -> HttpResponse:
        """A template that extends `admin/mcp_app/page.html`, filled."""
        request.current_app = self.admin_site.name
        everything = {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": self.opts,
            "media": self.media,
            **context,
        }
        return TemplateResponse(request, template, everything)

    def _open(self, page: Page, request: HttpRequest) -> HttpResponseBase:
        if not self.may_open(request, page):
            raise PermissionDenied
        return self._without_secret(request) or page.view(request)

    def _without_secret(self, request: HttpRequest) -> HttpResponse | None:
        """The way to the same page with each secret in the address cut; None where there is none.

        For browsers without scripts: elsewhere the secret is cut before it is sent.
        """
        asked = request.META.get("QUERY_STRING", "")
        if request.method not in ("GET", "HEAD") or public(asked) == asked:
            return None
        said = _("The server's own log may have it: rotate the token if others read that.")
        self.message_user(request, f"{CUT} {said}", messages.WARNING)
        return HttpResponseRedirect(f"{request.path}?{public(asked)}")


def links(request: HttpRequest) -> list[Link]:
    """The pages of the admin site that answers `request`, for whoever asks."""
    return [_link(request, held, page) for held, page in _linked(request)]


def beside_models(request: HttpRequest, app_list: Sequence[Any]) -> list[Any]:
    """The apps of an admin site's index, with the pages that somebody may open after the models."""
    rows = defaultdict[str, list[Any]](list)
    for held, page in _linked(request):
        if page.slug != LIST:
            rows[held.opts.app_label].append(_row(held, page))
    found = [
        {**app, "models": [*app["models"], *rows.pop(app["app_label"], [])]} for app in app_list
    ]
    return found + [_app(label, models) for label, models in rows.items()]


def _linked(request: HttpRequest) -> list[tuple[PagesAdmin, Page]]:
    return [
        (held, page)
        for held in registered(request).values()
        if isinstance(held, PagesAdmin)
        for page in held.pages()
        if page.linked and held.may_open(request, page)
    ]


def _row(held: PagesAdmin, page: Page) -> dict[str, Any]:
    """A page as the index has models: one that can be viewed."""
    return {
        "model": None,
        "object_name": page.slug,
        "name": page.title,
        "perms": {},
        "admin_url": held.page_url(page.slug),
        "add_url": None,
        "view_only": True,
    }


def _app(label: str, models: list[Any]) -> dict[str, Any]:
    """An app of whose models the person may see none: it has no page, so its first one is that."""
    return {
        "name": apps.get_app_config(label).verbose_name,
        "app_label": label,
        "app_url": models[0]["admin_url"],
        "has_module_perms": True,
        "models": models,
    }


def registered(request: HttpRequest) -> dict[Any, admin.ModelAdmin]:  # type: ignore[type-arg]
    """By model, what the admin site that answers `request` has of each."""
    name = _site_name(request)
    sites = (site for site in all_sites if site.name == name)
    return {model: held for site in sites for model, held in site._registry.items()}


def _site_name(request: Any) -> str:
    match = request.resolver_match
    return getattr(request, "current_app", "") or (match.namespace if match else "")


def _link(request: HttpRequest, held: PagesAdmin, page: Page) -> Link:
    url = held.page_url(page.slug)
    return Link(page.title, page.about, url, current=request.path == url)
