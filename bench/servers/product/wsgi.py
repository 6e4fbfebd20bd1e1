"""The product under WSGI."""

import gc

from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()

# What is loaded by now stays, so no round of the garbage collector needs to look at it.
gc.collect()
gc.freeze()
