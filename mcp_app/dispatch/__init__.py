"""One message in, one reply out: caller and context, handlers, and what the layers above provide.

Knows the catalog and the protocol. Knows no Django: stores, recorders and buses are Protocols here.
"""
