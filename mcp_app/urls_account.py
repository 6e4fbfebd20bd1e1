"""Pages of users' own tokens, for `urls.py`: `path("tokens/", include("mcp_app.urls_account"))`."""

from typing import Final

from django.urls import path

from mcp_app.account import views

app_name: Final = "mcp_app_account"

urlpatterns: Final = [
    path("", views.tokens, name="tokens"),
    path("issue/", views.issue, name="issue"),
    path("<int:pk>/rotate/", views.rotate_one, name="rotate"),
    path("<int:pk>/revoke/", views.revoke_one, name="revoke"),
    path("<int:pk>/secrets/<slug:lookup>/end/", views.end_one, name="end_secret"),
]
