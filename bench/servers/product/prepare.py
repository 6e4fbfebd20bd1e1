"""Makes the product's tables, its one user and that user's token, which it prints."""

import django

django.setup()

from django.contrib.auth.models import Permission, User  # noqa: E402
from django.core.management import call_command  # noqa: E402

call_command("migrate", verbosity=0)
user = User.objects.create_user("bench")
user.user_permissions.add(
    Permission.objects.get(content_type__app_label="auth", codename="view_user")
)
call_command("mcp_token", "create", "bench", name="bench", plain=True)
