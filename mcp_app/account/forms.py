"""The form with which users issue a token of their own: narrower than an administrator's."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from mcp_app.auth.own import allowed_scopes, check_limits, longest_days
from mcp_app.catalog.definition import Tool
from mcp_app.forms.fields import scope_choices, tool_choices
from mcp_app.forms.tokens import NewTokenForm, spans_within
from mcp_app.models import Token


class OwnTokenForm(NewTokenForm):
    """Asks for nothing beyond the limits; `auth.own` holds them when the token is saved."""

    field_order = ("name", "scopes", "tools", "read_only", "expiry", "expires_at")

    class Meta(NewTokenForm.Meta):
        fields: ClassVar = ["name", "scopes", "tools", "read_only", "expires_at"]

    def __init__(self, *args: Any, user: Any, tools: Sequence[Tool], **kwargs: Any) -> None:
        super().__init__(*args, instance=Token(user=user), label_suffix="", **kwargs)
        fields: dict[str, Any] = self.fields
        allowed = allowed_scopes()
        fields["scopes"].choices = [one for one in scope_choices() if one[0] in allowed]
        if not allowed:
            del fields["scopes"]
        within = [tool for tool in tools if allowed.issuperset(tool.scopes)]
        fields["tools"].offer(tool_choices(within), _("Any tool that you may call"))
        if len(within) < len(tools):
            fields["tools"].help_text = format_lazy(
                "{} {}",
                fields["tools"].help_text,
                _("Tools are left out that need a scope which only an administrator can give."),
            )
        spans = spans_within(longest_days())
        fields["expiry"].choices = spans
        fields["expiry"].initial = [value for value, _label in spans if value.isdecimal()][:2][-1]

    def clean(self) -> dict[str, Any]:
        """Hold the end to the limit of users, too."""
        cleaned = super().clean()
        self.instance.scopes = cleaned.get("scopes", [])
        self.instance.expires_at = cleaned.get("expires_at")
        if not self.errors:
            check_limits(self.instance, timezone.now())
        return cleaned
