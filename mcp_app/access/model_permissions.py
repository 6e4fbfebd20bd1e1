"""Django's model permissions for what reads and writes rows: to see them takes one, too."""

from typing import Final

from rest_framework.permissions import DjangoModelPermissions

_VIEW: Final = "%(app_label)s.view_%(model_name)s"


class ModelPermissions(DjangoModelPermissions):
    """Reading takes the view permission of the model, writing the one for the act besides.

    DRF's own class lets every user read.
    """

    perms_map = {  # noqa: RUF012 - as DRF has it
        "GET": [_VIEW],
        "OPTIONS": [_VIEW],
        "HEAD": [_VIEW],
        "POST": [_VIEW, "%(app_label)s.add_%(model_name)s"],
        "PUT": [_VIEW, "%(app_label)s.change_%(model_name)s"],
        "PATCH": [_VIEW, "%(app_label)s.change_%(model_name)s"],
        "DELETE": [_VIEW, "%(app_label)s.delete_%(model_name)s"],
    }
