"""The processes that several test modules share."""

from collections.abc import Iterator

import pytest

from tests.servers.product import Product, running_product


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """The running processes."""
    with running_product(tmp_path_factory.mktemp("processes")) as product:
        yield product


@pytest.fixture(scope="session")
def token(product: Product) -> str:
    """A token that nobody revokes."""
    return product.token()
