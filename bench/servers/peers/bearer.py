"""DRF's token authentication with the scheme that clients send."""

from rest_framework.authentication import TokenAuthentication


class Bearer(TokenAuthentication):
    """`Authorization: Bearer …`."""

    keyword = "Bearer"
