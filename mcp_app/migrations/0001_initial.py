import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import mcp_app.models.tokens


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Token",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="What uses it, as in “Claude Code on Ana's laptop”.",
                        max_length=100,
                        verbose_name="name",
                    ),
                ),
                (
                    "scopes",
                    models.JSONField(
                        blank=True,
                        default=list,
                        validators=[mcp_app.models.tokens.validate_scopes],
                        verbose_name="scopes",
                    ),
                ),
                ("expires_at", models.DateTimeField(blank=True, null=True, verbose_name="expires")),
                (
                    "revoked_at",
                    models.DateTimeField(
                        blank=True, editable=False, null=True, verbose_name="revoked"
                    ),
                ),
                ("note", models.TextField(blank=True, verbose_name="note")),
                (
                    "created_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, editable=False, verbose_name="created"
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="created by",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mcp_tokens",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="user",
                    ),
                ),
            ],
            options={
                "verbose_name": "token",
                "verbose_name_plural": "tokens",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=64, unique=True, verbose_name="session id")),
                (
                    "protocol_version",
                    models.CharField(max_length=32, verbose_name="protocol version"),
                ),
                (
                    "client_name",
                    models.CharField(blank=True, max_length=200, verbose_name="client"),
                ),
                (
                    "client_version",
                    models.CharField(blank=True, max_length=100, verbose_name="client version"),
                ),
                (
                    "capabilities",
                    models.JSONField(blank=True, default=dict, verbose_name="capabilities"),
                ),
                (
                    "address",
                    models.GenericIPAddressField(blank=True, null=True, verbose_name="address"),
                ),
                (
                    "created_at",
                    models.DateTimeField(default=django.utils.timezone.now, verbose_name="created"),
                ),
                (
                    "last_seen_at",
                    models.DateTimeField(
                        db_index=True, default=django.utils.timezone.now, verbose_name="last seen"
                    ),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True, verbose_name="ended")),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mcp_sessions",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="user",
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to="mcp_app.token",
                        verbose_name="token",
                    ),
                ),
            ],
            options={
                "verbose_name": "session",
                "verbose_name_plural": "sessions",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="TokenSecret",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("lookup", models.CharField(max_length=12, unique=True, verbose_name="prefix")),
                ("digest", models.CharField(max_length=128)),
                (
                    "created_at",
                    models.DateTimeField(default=django.utils.timezone.now, verbose_name="created"),
                ),
                (
                    "valid_until",
                    models.DateTimeField(blank=True, null=True, verbose_name="valid until"),
                ),
                (
                    "last_used_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="last used"),
                ),
                (
                    "last_used_ip",
                    models.GenericIPAddressField(
                        blank=True, null=True, verbose_name="last used from"
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="secrets",
                        to="mcp_app.token",
                        verbose_name="token",
                    ),
                ),
            ],
            options={
                "verbose_name": "secret",
                "verbose_name_plural": "secrets",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="CallEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_index=True, default=django.utils.timezone.now, verbose_name="when"
                    ),
                ),
                ("duration_ms", models.FloatField(blank=True, null=True, verbose_name="duration")),
                ("username", models.CharField(blank=True, max_length=254, verbose_name="username")),
                (
                    "token_name",
                    models.CharField(blank=True, max_length=100, verbose_name="token name"),
                ),
                (
                    "token_lookup",
                    models.CharField(blank=True, max_length=32, verbose_name="token prefix"),
                ),
                ("session_id", models.CharField(blank=True, max_length=64, verbose_name="session")),
                (
                    "request_id",
                    models.CharField(blank=True, max_length=128, verbose_name="request id"),
                ),
                ("method", models.CharField(blank=True, max_length=128, verbose_name="method")),
                ("tool", models.CharField(blank=True, max_length=128, verbose_name="tool")),
                (
                    "source",
                    models.CharField(blank=True, max_length=32, verbose_name="authenticated by"),
                ),
                (
                    "transport",
                    models.CharField(blank=True, max_length=16, verbose_name="transport"),
                ),
                (
                    "decision",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("allow", "Allowed"),
                            ("deny", "Denied"),
                            ("confirm", "Asked to confirm"),
                        ],
                        max_length=16,
                        verbose_name="decision",
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("started", "Started"),
                            ("ok", "OK"),
                            ("error", "Tool error"),
                            ("denied", "Denied"),
                            ("refused", "Refused"),
                            ("unknown", "Unknown"),
                            ("invalid", "Invalid arguments"),
                            ("unauthenticated", "Unauthenticated"),
                            ("throttled", "Throttled"),
                            ("cancelled", "Cancelled"),
                            ("timeout", "Timed out"),
                            ("failed", "Failed"),
                        ],
                        max_length=16,
                        verbose_name="outcome",
                    ),
                ),
                (
                    "error_class",
                    models.CharField(blank=True, max_length=255, verbose_name="error class"),
                ),
                ("error_text", models.TextField(blank=True, verbose_name="error text")),
                (
                    "correlation_id",
                    models.CharField(blank=True, max_length=32, verbose_name="correlation id"),
                ),
                ("arguments", models.JSONField(blank=True, null=True, verbose_name="arguments")),
                (
                    "result_bytes",
                    models.PositiveBigIntegerField(
                        blank=True, null=True, verbose_name="result size"
                    ),
                ),
                (
                    "protocol_version",
                    models.CharField(blank=True, max_length=32, verbose_name="protocol version"),
                ),
                (
                    "client_name",
                    models.CharField(blank=True, max_length=200, verbose_name="client"),
                ),
                (
                    "client_version",
                    models.CharField(blank=True, max_length=100, verbose_name="client version"),
                ),
                (
                    "address",
                    models.GenericIPAddressField(blank=True, null=True, verbose_name="address"),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="user",
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="mcp_app.token",
                        verbose_name="token",
                    ),
                ),
            ],
            options={
                "verbose_name": "call",
                "verbose_name_plural": "calls",
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["tool", "created_at"], name="mcp_call_tool"),
                    models.Index(fields=["user", "created_at"], name="mcp_call_user"),
                    models.Index(fields=["token", "created_at"], name="mcp_call_token"),
                    models.Index(fields=["outcome", "created_at"], name="mcp_call_outcome"),
                    models.Index(fields=["correlation_id"], name="mcp_call_correlation"),
                    models.Index(fields=["token_lookup"], name="mcp_call_lookup"),
                ],
            },
        ),
    ]
