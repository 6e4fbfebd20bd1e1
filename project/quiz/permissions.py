"""Django's model permissions as the quiz's tools ask for them."""

from rest_framework.permissions import DjangoModelPermissions

_METHODS = ("GET", "OPTIONS", "HEAD", "POST", "PUT", "PATCH", "DELETE")


def _always(action: str) -> dict[str, list[str]]:
    needed = f"%(app_label)s.{action}_%(model_name)s"
    return {method: [needed] for method in _METHODS}


class CanView(DjangoModelPermissions):
    """The view permission on the tool's model; DRF's own class lets every user read."""

    perms_map = _always("view")


class CanChange(DjangoModelPermissions):
    """The change permission, for a destructive tool too: closing a room does not delete it."""

    perms_map = _always("change")
