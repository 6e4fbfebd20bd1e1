"""The example under WSGI: the endpoint is a plain Django view here, and answers in JSON."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")

application = get_wsgi_application()
