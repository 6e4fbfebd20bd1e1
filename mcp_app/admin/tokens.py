"""Tokens in the admin: the list, the form that issues one, the page of one."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect, RelatedFieldWidgetWrapper
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_app.admin.deleting import DeletePages
from mcp_app.admin.display import badge, codes, lines, moment, moment_of, two_lines
from mcp_app.admin.filters import OwnerFilter, StatusFilter
from mcp_app.admin.histories import history
from mcp_app.admin.links import followed
from mcp_app.admin.subjects import SOURCE
from mcp_app.admin.token_bulk import TokenBulk
from mcp_app.admin.token_pages import Shown, may_act_as
from mcp_app.audit.search import lookup_in
from mcp_app.audit.token_uses import Grace, graces, uses
from mcp_app.auth.tokens import AlreadyIssued, save_new
from mcp_app.forms.tokens import NewTokenForm, NoteForm, TokenForm
from mcp_app.models import Session, Token
from mcp_app.models.limits import unknown
from mcp_app.transports.reach import reach_of

NARROWING = ("scopes", "tools", "read_only")
NARROWED = ("scopes_shown", "tools_shown", "read_only")
"""The same, to read."""
ASKED = [
    (None, {"fields": ("user", "name", "note", "lookup")}),
    (_("What it may do"), {"fields": NARROWING}),
    (_("How long"), {"fields": ("expiry", "expires_at")}),
]
EXPIRES = moment_of("ends_at", _("Expires"))
STORY = (
    "status_badge",
    moment_of("created_at", _("created")),
    "created_by",
    moment_of("revoked_at", _("revoked")),
)


class UserSelect(AutocompleteSelect):
    """Django's, with a name for those who hear it."""

    @property
    def media(self) -> Any:
        """Its own, and what names it once that has run."""
        return super().media + forms.Media(
            js=["admin/js/autocomplete.js", "mcp_app/user_select.js"]
        )

    def build_attrs(self, base_attrs: Any, extra_attrs: Any = None) -> dict[str, Any]:
        """What it shows while nobody is chosen is read as its name, too."""
        attrs: dict[str, Any] = super().build_attrs(base_attrs, extra_attrs)
        named = {"data-placeholder": gettext("Find a user"), "data-name": gettext("User")}
        return attrs | named

    def optgroups(self, name: str, value: Sequence[str], attr: Any = None) -> Any:
        """Without what is no key, as of a form that asked for a name: Django's fails on that."""
        return super().optgroups(name, list(filter(_is_user_key, value)), attr)


def _is_user_key(value: Any) -> bool:
    try:
        get_user_model()._meta.pk.to_python(value)
    except ValidationError:
        return False
    return True


def _old_secret(grace: Grace) -> SafeString:
    told = {
        "at": moment(grace.ends_at, seconds=False),
        "used": gettext("still used") if grace.is_used else gettext("not used since"),
    }
    return format_html(gettext("old secret until {at}, {used}"), **told)


def _end(token: Token) -> Any:
    if token.ends_at is None:
        return _("never expires")
    said = gettext("expired {at}") if token.ends_at <= timezone.now() else gettext("expires {at}")
    return format_html(said, at=moment(token.ends_at, seconds=False))


def _form_of(token: Token) -> type[forms.ModelForm]:  # type: ignore[type-arg]
    return NoteForm if token.is_over else TokenForm


@admin.register(Token)
class TokenAdmin(DeletePages, TokenBulk):
    """Issue, look at, rename, narrow, rotate and revoke tokens."""

    list_display = (
        "named",
        "worth",
        "narrowing",
        "last_used",
        "created",
    )
    list_filter = (StatusFilter, OwnerFilter)
    list_select_related = ("user",)
    search_help_text = _("A token's name, note or prefix, or a user.")
    show_facets = admin.ShowFacets.NEVER
    actions = ("rotate_tokens", "revoke_tokens")
    parts = (Session,)

    class Media:
        css: ClassVar = {"all": ["mcp_app/tokens.css"]}
        js: ClassVar = [forms.Script("mcp_app/reach.js", defer=True)]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Token]:
        """With the last use of any secret, in the same query; and with the secrets."""
        tokens = super().get_queryset(request).prefetch_related("secrets")
        return tokens.with_last_used()  # type: ignore[attr-defined, no-any-return]

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """With the name that this project's users have."""
        username = f"user__{get_user_model().USERNAME_FIELD}"
        return ("name", "note", username, "secrets__lookup__exact")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Token], search_term: str
    ) -> tuple[QuerySet[Token], bool]:
        """By a prefix too, as it is shown or as it stands in a client's settings."""
        return super().get_search_results(request, queryset, lookup_in(search_term) or search_term)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """Another form to issue than to change; of a token that is over only the note is left."""
        kwargs["form"] = NewTokenForm if obj is None else _form_of(obj)
        return super().get_form(request, obj, change=change, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """What is asked for, or what is known."""
        if obj is None:
            return ASKED
        changes = self._changes(request, obj)
        narrowing = (*NARROWING, "expires_at") if changes else (*NARROWED, EXPIRES)
        known = followed(request, self.model, ("name", "user", *narrowing, "note"))
        story = followed(request, self.model, STORY)
        return [(None, {"fields": known}), (_("State"), {"fields": story})]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """A token never changes hands, and one that is over does nothing any more."""
        if obj is None:
            return ()
        dead = ("name",) if obj.is_over else ()
        kept = () if self._changes(request, obj) else (*NARROWED, EXPIRES)
        return followed(request, self.model, ("user", *dead, *kept, *STORY))

    def _changes(self, request: HttpRequest, token: Token) -> bool:
        """Whether the person may change what the token may do."""
        return not token.is_over and self.has_change_permission(request, token)

    def get_autocomplete_fields(self, request: HttpRequest) -> Any:
        """Find the user by typing, where this admin has users and the person may see them."""
        users = self.admin_site._registry.get(get_user_model())
        if users is None or not users.get_search_fields(request):
            return ()
        return ("user",) if users.has_view_permission(request) else ()

    def formfield_for_foreignkey(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        """Offer those users whom the person may act as; by username where none can be listed."""
        users = get_user_model()._default_manager.all()
        if hasattr(get_user_model(), "is_superuser") and not request.user.is_superuser:
            users = users.filter(is_superuser=False)
        kwargs["queryset"] = users
        kwargs["help_text"] = _("It works as this user, and does no more than the user may.")
        if self.get_autocomplete_fields(request):
            kwargs["widget"] = UserSelect(db_field, self.admin_site)
        else:
            kwargs["to_field_name"] = get_user_model().USERNAME_FIELD
            kwargs["widget"] = forms.TextInput
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        """Without ways to change users from here."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if isinstance(widget := getattr(field, "widget", None), RelatedFieldWidgetWrapper):
            assert field is not None
            field.widget = widget.widget
        return field

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Issue a token once: the same form sent again is told so, and makes no second one."""
        context = {"title": _("Issue a token"), **(extra_context or {})}
        try:
            return super().add_view(request, form_url, context)
        except AlreadyIssued as issued:
            return self.already_shown(request, str(issued))

    def save_model(self, request: Any, obj: Token, form: Any, change: bool) -> None:
        """Save a change; or issue the token, and keep its secret for this answer alone."""
        if change:
            super().save_model(request, obj, form, change)
            return
        lookup = form.cleaned_data["lookup"]
        request.mcp_app_secret = save_new(obj, by=request.user, lookup=lookup)

    def response_add(self, request: Any, obj: Token, post_url_continue: Any = None) -> HttpResponse:
        """Answer with the page that shows the secret: a redirect would have to carry it."""
        return self.shown_once(request, [Shown(obj, request.mcp_app_secret)])

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """With who uses it and what was done to it."""
        token = context.get("original")
        context |= {"show_save_and_add_another": False, "show_save_and_continue": False}
        if token is not None:
            found = uses(token, timezone.now())
            none_works = all(use.ended_at for use in found)
            context |= {"uses": found, "none_works": none_works, "history": history(token)}
            context["may_hold"] = may_act_as(request, token.user)
            works = token.user.is_active and not none_works
            context["reach"] = reach_of(token, source=SOURCE) if works else None
        return super().render_change_form(request, context, *args, **kwargs)

    @admin.display(description=_("name and user"), ordering="name")
    def named(self, token: Token) -> Any:
        """What it is called, and as whom it calls."""
        return two_lines(token.name, token.user.get_username())

    @admin.display(description=_("status and expiry"), ordering="expires_at")
    def worth(self, token: Token) -> Any:
        """What it is worth now, and until when; and how long an old secret works beside it."""
        old = [_old_secret(grace) for grace in graces(token, timezone.now())]
        return two_lines(self.status_badge(token), lines([_end(token), *old]))

    @admin.display(description=_("status"))
    def status_badge(self, token: Token) -> Any:
        """What it is worth now."""
        if not token.user.is_active:
            return badge("inactive", _("Owner inactive"))
        status = token.status()
        return badge(status, status.label)

    @admin.display(description=_("scopes and limits"))
    def narrowing(self, token: Token) -> Any:
        """What it is narrowed to."""
        limits = [_("read only")] if token.read_only else []
        if token.tools is not None:
            limits.append(self.tools_shown(token) if token.tools else _("no tools"))
        scopes = self.scopes_shown(token)
        return two_lines(scopes, format_html_join(", ", "{}", zip(limits))) if limits else scopes

    @admin.display(description=_("scopes"))
    def scopes_shown(self, token: Token) -> Any:
        """Which scopes it has, and which of them mean nothing."""
        return codes(token.scopes, unknown("scopes", token.scopes))

    @admin.display(description=_("tools"))
    def tools_shown(self, token: Token) -> Any:
        """Which tools it may call, and which of them there are not."""
        if token.tools is None:
            return _("any tool that its user may")
        return codes(token.tools, unknown("tools", token.tools))

    @admin.display(description=_("last used"), ordering="last_used_at")
    def last_used(self, token: Token) -> Any:
        """The latest use of any of its secrets."""
        at = getattr(token, "last_used_at", None)
        return moment(at, seconds=False) if at else _("never")

    @admin.display(description=_("created"), ordering="created_at")
    def created(self, token: Token) -> Any:
        """When it was issued."""
        return moment(token.created_at, seconds=False)
