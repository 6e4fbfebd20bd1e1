"""An empty list of tools, which meant any tool, is NULL from here on: it means none now."""

from typing import Any

from django.db import migrations, models

import mcp_app.models.tokens

NONE_BEFORE = [""]
"""How a token without any tool is written for the code before: a name that no tool has."""


def empty_to_null(apps: Any, schema_editor: Any) -> None:
    """Keep what tokens may call."""
    tokens = apps.get_model("mcp_app", "Token").objects.using(schema_editor.connection.alias)
    tokens.filter(tools=[]).update(tools=None)
    tokens.filter(tools=NONE_BEFORE).update(tools=[])


def null_to_empty(apps: Any, schema_editor: Any) -> None:
    """Keep what tokens may call: a token without any tool must not come back with all."""
    tokens = apps.get_model("mcp_app", "Token").objects.using(schema_editor.connection.alias)
    tokens.filter(tools=[]).update(tools=NONE_BEFORE)
    tokens.filter(tools__isnull=True).update(tools=[])


class Migration(migrations.Migration):
    dependencies = [
        ("mcp_app", "0006_switches"),
    ]

    operations = [
        migrations.AlterField(
            model_name="token",
            name="tools",
            field=models.JSONField(
                blank=True,
                help_text=(
                    "The only tools it may call, an empty list for none; without a list, any."
                ),
                null=True,
                validators=[mcp_app.models.tokens.validate_tools],
                verbose_name="tools",
            ),
        ),
        migrations.RunPython(empty_to_null, null_to_empty),
    ]
