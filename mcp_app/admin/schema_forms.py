"""A form made from a JSON Schema: a field for each property, and what was entered as JSON.

It converts and does not judge: what fits is decided where the call is made.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_app.admin.schemas import Property, properties
from mcp_app.catalog.schemas import Schema
from mcp_app.protocol.errors import ParseError
from mcp_app.protocol.messages import loads

ABSENT: Final = object()
"""What an argument is that is not sent."""

_LONG: Final = 200
"""A text that may be longer gets several lines."""


class SchemaForm(forms.Form):
    """The properties of an object's schema as fields; `entered` once it is valid.

    Fields are numbered, since properties may have any name.
    """

    use_required_attribute = False

    def __init__(
        self,
        schema: Schema,
        data: Any = None,
        *,
        sensitive: frozenset[str] = frozenset(),
        **kw: Any,
    ) -> None:
        super().__init__(data, label_suffix="", **kw)
        self.rows = properties(schema, sensitive)
        for number, row in enumerate(self.rows):
            self.fields[f"p{number}"] = field_for(row)

    @property
    def entered(self) -> dict[str, Any]:
        """What is to be sent, by property."""
        values = ((row.name, self.cleaned_data[f"p{n}"]) for n, row in enumerate(self.rows))
        return {name: value for name, value in values if value is not ABSENT}


class _Converted(forms.CharField):
    """A text that stands for a JSON value; an empty one is not sent."""

    def __init__(self, *, needed: bool, **kwargs: Any) -> None:
        self._needed = needed
        super().__init__(required=False, strip=False, **kwargs)

    def clean(self, value: Any) -> Any:
        """The value, or `ABSENT`."""
        text = super().clean(value)
        if not text.strip():
            if self._needed:
                raise forms.ValidationError(_("This argument is required."))
            return ABSENT
        return self.converted(text)

    def converted(self, text: str) -> Any:
        """The JSON value of a text that is not empty."""
        try:
            return loads(text.encode("utf-8", "surrogatepass"))
        except ParseError as error:
            raise forms.ValidationError(_("That is not JSON: %s") % error.message) from None


class _Number(_Converted):
    """A number, whole ones of any size."""

    def converted(self, text: str) -> Any:
        """The number."""
        value = super().converted(text.strip())
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise forms.ValidationError(_("Enter a number."))
        return value


class _Text(forms.CharField):
    """A text as it is; an empty one is sent where the argument is required."""

    def __init__(self, *, needed: bool, **kwargs: Any) -> None:
        self._needed = needed
        super().__init__(required=False, strip=False, **kwargs)

    def clean(self, value: Any) -> Any:
        """The text, or `ABSENT`."""
        text = super().clean(value)
        return text if text or self._needed else ABSENT


class _Choice(forms.ChoiceField):
    """One of the values that a schema names."""

    def clean(self, value: Any) -> Any:
        """The value, or `ABSENT`."""
        chosen = super().clean(value)
        return json.loads(chosen) if chosen else ABSENT


def field_for(row: Property) -> forms.Field:
    """The field for a property, which says what it takes."""
    told: dict[str, Any] = {"label": row.name, "help_text": " · ".join(_help(row))}
    schema, kind = row.schema, row.schema.get("type")
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if kind == "boolean" and choices is None:
        choices = [True, False]
    if isinstance(choices, list):
        return _Choice(choices=_options(row, choices), required=row.required, **told)
    told["needed"] = row.required
    if kind == "string":
        return _Text(widget=_text_widget(row), **told)
    if kind in ("integer", "number"):
        step = "1" if kind == "integer" else "any"
        return _Number(widget=forms.NumberInput(attrs={"step": step}), **told)
    return _Converted(widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}), **told)


def _text_widget(row: Property) -> forms.Widget:
    if row.sensitive:
        return forms.PasswordInput(attrs={"autocomplete": "off"})
    # Without a limit a word is likelier than an essay; the short field takes both.
    if row.schema.get("maxLength", 0) > _LONG:
        return forms.Textarea(attrs={"rows": 4})
    return forms.TextInput(attrs={"autocomplete": "off"})


def _options(row: Property, values: list[Any]) -> list[tuple[str, str]]:
    found = [(json.dumps(value), _word(value)) for value in values]
    return found if row.required and len(values) == 1 else [("", gettext("not sent")), *found]


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _help(row: Property) -> Iterator[str]:
    if row.description:
        yield row.description
    yield gettext("required") if row.required else gettext("optional")
    is_json = row.schema.get("type") not in ("string", "integer", "number", "boolean")
    is_choice = "enum" in row.schema or "const" in row.schema
    yield gettext("%s, as JSON") % row.type if is_json and not is_choice else row.type
    yield from row.limits
    if row.default is not None:
        yield gettext("default %s") % row.default


def masked(arguments: Mapping[str, Any], sensitive: frozenset[str]) -> dict[str, Any]:
    """Arguments as a page may show them."""
    return {name: "…" if name in sensitive else value for name, value in arguments.items()}
