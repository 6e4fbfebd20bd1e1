"""The question that pages about access begin with: as which user, and with which token."""

from typing import Any, Final

from django import forms
from django.contrib.auth import get_user_model
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_app.admin.entries import Entry, entries, find
from mcp_app.dispatch.context import Caller
from mcp_app.models import TokenSecret
from mcp_app.transports.subjects import caller_of

SOURCE: Final = "admin"
"""How callers of these pages were recognised, as call events have it."""

MOST_SECRETS: Final = 100


class SubjectForm(forms.Form):
    """Asked in the address, so that an answer can be linked to; `caller` once it is valid.

    The tokens to choose from are those of the user, once there is one.
    """

    user = forms.CharField(
        label=_("User"), max_length=254, help_text=_("The name that the user signs in with.")
    )
    token = forms.ChoiceField(
        label=_("Token"),
        required=False,
        help_text=_("A token narrows what its user may do. Those of the user are listed here."),
    )

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        super().__init__(data if data and "user" in data else None, label_suffix="", **kwargs)
        self.found = _user(str(data.get("user", ""))) if self.is_bound else None
        self.secrets = _secrets(self.found)
        self.fields["token"].choices = [  # type: ignore[attr-defined]
            ("", gettext("none: the user alone")),
            *(
                (secret.lookup, f"{secret.token.name} (mcp_{secret.lookup}_…)")
                for secret in self.secrets
            ),
        ]

    def clean_user(self) -> Any:
        """The user of that name."""
        if self.found is None:
            raise forms.ValidationError(_("There is no such user."))
        return self.found

    @property
    def secret(self) -> TokenSecret | None:
        """The chosen token's."""
        chosen = self.cleaned_data["token"]
        return next((secret for secret in self.secrets if secret.lookup == chosen), None)

    @property
    def caller(self) -> Caller:
        """Who the endpoint would see."""
        return caller_of(self.cleaned_data["user"], self.secret, source=SOURCE)


class EntryForm(SubjectForm):
    """With the tool, resource or prompt that it is about."""

    of = forms.ChoiceField(label=_("Tool, resource or prompt"))
    field_order = ("of", "user", "token")

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        chosen = {"of": data.get("of", "")} if data else {}
        super().__init__(data, initial=chosen, **kwargs)
        found = entries()
        several = len({entry.server for entry in found}) > 1
        self.fields["of"].choices = [(each.reference, named(each, several)) for each in found]  # type: ignore[attr-defined]

    def clean_of(self) -> Entry:
        """The entry that was chosen."""
        entry = find(self.cleaned_data["of"])
        if entry is None:
            raise forms.ValidationError(_("There is no such thing."))
        return entry


def named(entry: Entry, several: bool) -> str:
    """An entry in a list to choose from, with its server where there are several."""
    told = f"{entry.label} {entry.declared.key}"
    return f"{entry.server.name}: {told}" if several else told


def _user(name: str) -> Any:
    users = get_user_model()
    if "\0" in name:  # not every database may be asked for one
        return None
    try:
        return users._default_manager.get_by_natural_key(name)
    except users.DoesNotExist:
        return None


def _secrets(user: Any) -> list[TokenSecret]:
    """The user's secrets, the newest first; also of ended tokens, whose calls the log has."""
    if user is None:
        return []
    found = TokenSecret.objects.filter(token__user=user).select_related("token__user")
    return list(found.order_by("-pk")[:MOST_SECRETS])
