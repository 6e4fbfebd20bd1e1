"""Form fields for what limits a token to some tools."""

from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

ANY: Final = "any"
ONLY: Final = "only"
CHOICES: Final = ((ANY, _("Any tool that its user may")), (ONLY, _("Only these tools:")))


class LinesField(forms.CharField):
    """A list of names, one a line."""

    widget = forms.Textarea(attrs={"rows": 3})

    def prepare_value(self, value: Any) -> Any:
        """As lines."""
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        """As a sorted list."""
        return sorted({line.strip() for line in (value or "").splitlines() if line.strip()})

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether other names are listed."""
        return bool(self.to_python(data) != sorted(initial or []))


class Sent(list[Any]):
    """Both controls as they were sent, each None where it was not."""


class ToolsWidget(forms.MultiWidget):
    """A choice, and the names that it is about."""

    def __init__(self) -> None:
        names = forms.Textarea(attrs={"rows": 3, "aria-label": _("Only these tools:")})
        super().__init__({"limit": forms.RadioSelect(choices=CHOICES), "names": names})

    def decompress(self, value: Any) -> list[Any]:
        """The choice that a token's `tools` are, and the names."""
        return [ANY, ""] if value is None else [ONLY, "\n".join(value)]

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Sent:
        """What a browser sent."""
        return Sent(super().value_from_datadict(data, files, name))

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        """For either: Django takes any list for what was sent, and a token's tools are one."""
        sent = value if isinstance(value, Sent) else self.decompress(value)
        return super().get_context(name, sent, attrs)


class ToolsField(forms.MultiValueField):
    """None for any tool, or the names of the only ones; an empty list for none at all."""

    widget = ToolsWidget

    def __init__(self, **kwargs: Any) -> None:
        fields = (forms.ChoiceField(choices=CHOICES), LinesField(required=False))
        super().__init__(fields, require_all_fields=False, **kwargs)

    def clean(self, value: Any) -> list[str] | None:
        """Need the choice, and no names beside “any”: which of the two is meant nobody knows."""
        limit, names = (field.clean(sent) for field, sent in zip(self.fields, value, strict=True))
        if limit == ANY and names:
            raise ValidationError(
                _("Tools are listed, but any tool is chosen. Choose “only these”, or list none."),
                code="ambiguous",
            )
        return names if limit == ONLY else None

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether it would let other tools be called."""
        try:
            return bool(self.clean(data) != initial)
        except ValidationError:
            return True
