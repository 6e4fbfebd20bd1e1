"""django-admin-mcp: it takes no tools of a project's own, so it is asked for one note.

A token is always required.
"""

from bench.servers.peers import host

host.configure(
    __name__,
    [
        "django.contrib.sessions",
        "django.contrib.messages",
        "django.contrib.admin",
        "django_admin_mcp",
        "bench.servers.peers.notes",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
)

from django.contrib import admin  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import include, path  # noqa: E402

admin.autodiscover()
urlpatterns = [
    path("mcp/", include("django_admin_mcp.urls")),
    path("admin/", admin.site.urls),
]
asgi, wsgi = get_asgi_application(), get_wsgi_application()


def credentials() -> str:
    """A token that may read notes, and the note that is asked for."""
    from django.contrib.auth.models import Permission, User
    from django_admin_mcp.models import MCPToken

    from bench.servers.peers.notes.models import Note

    Note.objects.create(title="999999999")
    token = MCPToken(name="bench", user=User.objects.create_superuser("bench"))
    token.save()
    secret: str = token._plaintext_token
    token.permissions.set(Permission.objects.filter(content_type__app_label="notes"))
    return secret
