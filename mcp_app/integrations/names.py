"""Names of tools, made of the names of classes."""

import re


def snake_case(name: str) -> str:
    """`FindOrders` as `find_orders`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
