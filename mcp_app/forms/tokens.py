"""Forms that issue, change and rotate a token."""

from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from mcp_app.audit.periods import to_the_minute
from mcp_app.auth.hashing import new_lookup
from mcp_app.auth.tokens import LONGEST_GRACE, check_expiry, check_user
from mcp_app.conf import settings
from mcp_app.forms.fields import (
    ZONE,
    Choices,
    MomentField,
    ToolsField,
    gone_choices,
    scope_choices,
    tool_choices,
)
from mcp_app.models import Token

CUSTOM: Final = "custom"
NEVER: Final = "never"
EXPIRY_DAYS: Final = (7, 30, 90, 365)
GRACES: Final = (
    (0, _("At once")),
    (3600, _("After 1 hour")),
    (24 * 3600, _("After 1 day")),
    (7 * 24 * 3600, _("After 7 days")),
)


def expiry_choices() -> Choices:
    """The spans that the settings allow."""
    return spans_within(settings.TOKEN_MAX_DAYS)


def spans_within(most: int | None) -> Choices:
    """Spans of at most so many days, or any."""
    days = [n for n in EXPIRY_DAYS if most is None or n <= most] or ([most] if most else [])
    spans = [(str(n), ngettext("In %(n)d day", "In %(n)d days", n) % {"n": n}) for n in days]
    never = [] if most else [(NEVER, gettext("Never"))]
    return [*spans, *never, (CUSTOM, gettext("On a chosen date"))]


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]  # no subscript at run time
    """Change what a token is called and what it may do."""

    scopes = forms.MultipleChoiceField(
        label=_("Scopes"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "A tool that needs a scope is refused to a token without it. "
            "No scope gives a right that the user lacks."
        ),
    )

    tools = ToolsField(
        label=_("Tools"),
        help_text=_(
            "A token that is limited to some tools reads no resources and gets no prompts. "
            "With none ticked it can call nothing."
        ),
    )
    expires_at = MomentField(
        label=_("Expires"),
        required=False,
        help_text=_("Left empty, it never expires, where the site allows that."),
    )

    class Meta:
        model = Token
        fields: ClassVar = ["name", "scopes", "tools", "read_only", "expires_at", "note"]
        widgets: ClassVar = {"note": forms.Textarea(attrs={"rows": 2})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scopes: Any = self.fields["scopes"]
        scopes.choices = [*scope_choices(), *gone_choices("scopes", self.instance.scopes)]
        if not scopes.choices:
            scopes.help_text = _("This site declares no scopes: no tool asks for one.")
        tools: Any = self.fields["tools"]
        tools.offer([*tool_choices(), *gone_choices("tools", self.instance.tools)])

    def clean(self) -> dict[str, Any]:
        """Hold a changed expiry to what the settings allow."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if "expires_at" in self.changed_data and "expires_at" in cleaned:
            check_expiry(cleaned["expires_at"], timezone.now(), self.instance.created_at)
        return cleaned


class NoteForm(forms.ModelForm):  # type: ignore[type-arg]  # no subscript at run time
    """Change the note of a token that is over: nothing else of it means anything any more."""

    class Meta:
        model = Token
        fields: ClassVar = ["note"]
        widgets: ClassVar = TokenForm.Meta.widgets


class NewTokenForm(TokenForm):
    """Issue a token. `prefix` is chosen when the form is shown, so that it is answered once."""

    expiry = forms.ChoiceField(label=_("Expires"), choices=expiry_choices, initial="90")
    expires_at = MomentField(label=_("Date"), required=False, help_text=ZONE)
    lookup = forms.RegexField(
        r"\A[0-9A-Za-z]{12}\Z", widget=forms.HiddenInput, initial=new_lookup, label=""
    )

    class Meta(TokenForm.Meta):
        fields: ClassVar = ["user", *TokenForm.Meta.fields]

    def clean(self) -> dict[str, Any]:
        """Turn the chosen span into the moment it ends."""
        now = timezone.now()
        cleaned = self.cleaned_data
        if "expiry" in cleaned and "expires_at" in cleaned:
            cleaned["expires_at"] = self._moment(now)
            check_expiry(cleaned["expires_at"], now)
        if cleaned.get("user"):
            check_user(cleaned["user"])
        return cleaned

    def _moment(self, now: datetime) -> datetime | None:
        choice, date = self.cleaned_data["expiry"], self.cleaned_data["expires_at"]
        if choice == CUSTOM:
            if date is None:
                raise ValidationError({"expires_at": gettext("Give the date, or choose a span.")})
            return date  # type: ignore[no-any-return]
        return None if choice == NEVER else now + timedelta(days=int(choice))


def grace_choices() -> Choices:
    """The usual spans, each with the moment that it means."""
    now = timezone.now()
    spans = [
        (str(n), _until(label, now + timedelta(seconds=n)) if n else label) for n, label in GRACES
    ]
    return [*spans, (CUSTOM, _("After so many seconds:"))]


def _until(label: Any, at: datetime) -> str:
    return gettext("%(span)s, on %(moment)s") % {"span": label, "moment": to_the_minute(at)}


class GraceForm(forms.Form):
    """How long the old secret still works after a rotation."""

    grace = forms.ChoiceField(
        label=_("The old secret ends"),
        choices=grace_choices,
        widget=forms.RadioSelect,
    )
    seconds = forms.IntegerField(
        label=_("Seconds"),
        required=False,
        min_value=0,
        max_value=int(LONGEST_GRACE.total_seconds()),
        widget=forms.NumberInput(attrs={"aria-label": _("Seconds")}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        usual = int(settings.ROTATION_GRACE)
        preset = usual in dict(GRACES)
        self.fields["grace"].initial = str(usual) if preset else CUSTOM
        self.fields["seconds"].initial = None if preset else usual

    def clean(self) -> dict[str, Any]:
        """Need the seconds where they were chosen."""
        cleaned = self.cleaned_data
        if cleaned.get("grace") == CUSTOM and cleaned.get("seconds", 0) is None:
            self.add_error("seconds", gettext("Write how many seconds."))
        return cleaned

    def span(self) -> timedelta:
        """The grace that was chosen, once the form is valid."""
        chosen = self.cleaned_data["grace"]
        seconds = self.cleaned_data["seconds"] if chosen == CUSTOM else int(chosen)
        return timedelta(seconds=seconds)


class RotateForm(GraceForm):
    """Rotate the token as the page showed it."""

    expected = forms.IntegerField(required=False, widget=forms.HiddenInput)
