"""Forms that issue, change and rotate a token."""

from collections.abc import Sequence
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

    def clean(self) -> dict[str, Any]:
        """Refuse what was filled in while the token still worked: most of it would be lost."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if any(name in self.data for name in TokenForm.Meta.fields if name not in self.fields):
            raise ValidationError(
                gettext(
                    "The token has ended meanwhile, so nothing was saved. "
                    "Save again to change its note; the rest means nothing any more."
                )
            )
        return cleaned


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


def grace_choices(ends: Sequence[datetime | None], now: datetime) -> Choices:
    """The usual spans, each with the moment that it means, as far as it puts anything off.

    Args:
        ends: when each old secret ends by itself; None for never.
    """
    usual = now + timedelta(seconds=settings.ROTATION_GRACE)
    has_own = int(settings.ROTATION_GRACE) not in dict(GRACES)
    spans: Choices = []
    for seconds, label in GRACES:
        at = now + timedelta(seconds=seconds)
        sooner = [end for end in ends if end is not None and end <= at]
        if sooner and len(sooner) == len(ends):
            spans.append((str(seconds), _by_itself(sooner, now)))
            # The project's usual span is offered whatever it is, unless it puts nothing off.
            return [*spans, _own_span(ends)] if has_own and usual < max(sooner) else spans
        spans.append((str(seconds), _until(label, at, bool(sooner)) if seconds else label))
    return [*spans, _own_span(ends)]


def _own_span(ends: Sequence[datetime | None]) -> tuple[str, Any]:
    if all(end is None for end in ends):
        return CUSTOM, _("After so many seconds:")
    return CUSTOM, _("After so many seconds, or with the token where that ends sooner:")


def _until(label: Any, at: datetime, or_sooner: bool) -> str:
    said = {"span": label, "moment": to_the_minute(at)}
    if or_sooner:
        return gettext("%(span)s, on %(moment)s, or with its token where that ends sooner") % said
    return gettext("%(span)s, on %(moment)s") % said


def _by_itself(ends: Sequence[datetime], now: datetime) -> str:
    """What a grace comes to that puts nothing off."""
    last = max(ends)
    if last <= now:
        return gettext("It has ended already")
    said = {"moment": to_the_minute(last)}
    if len(ends) > 1:
        return gettext("Each with its token, the last on %(moment)s") % said
    return gettext("With the token, on %(moment)s") % said


def _own_end(token: Token, now: datetime) -> datetime | None:
    """When the secret that a rotation retires ends by itself; now where there is none."""
    newest = max(token.secrets.all(), key=lambda secret: secret.pk, default=None)
    return newest.ends_at if newest else now


class GraceField(forms.ChoiceField):
    """Which choices are shown changes as time goes by; each of the usual ones stays good."""

    def valid_value(self, value: Any) -> bool:
        """Whether it is one that was ever offered."""
        return value == CUSTOM or value in {str(seconds) for seconds, _label in GRACES}


class GraceForm(forms.Form):
    """How long the old secrets of some tokens still work after a rotation.

    A grace puts no end off that comes before, so none is offered that says it would.
    """

    grace = GraceField(label=_("The old secret ends"), widget=forms.RadioSelect)
    seconds = forms.IntegerField(
        label=_("Seconds"),
        required=False,
        min_value=0,
        max_value=int(LONGEST_GRACE.total_seconds()),
        widget=forms.NumberInput(attrs={"aria-label": _("Seconds")}),
    )

    def __init__(self, *args: Any, tokens: Sequence[Token], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        now = timezone.now()
        choices = grace_choices([_own_end(token, now) for token in tokens], now)
        usual = int(settings.ROTATION_GRACE)
        initial = str(usual) if usual in dict(GRACES) else CUSTOM
        grace: Any = self.fields["grace"]
        grace.choices = choices
        # One that is left out comes to the last that is offered.
        grace.initial = initial if initial in dict(choices) else choices[-1][0]
        self.fields["seconds"].initial = usual if grace.initial == CUSTOM else None

    @property
    def asks_seconds(self) -> bool:
        """Whether seconds of one's own may be chosen."""
        grace: Any = self.fields["grace"]
        return CUSTOM in dict(grace.choices)

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
