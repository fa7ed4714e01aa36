"""Sample packages on disk, and an endpoint that documents."""

import pytest

from tests.support.writers import Documenting


@pytest.fixture
def endpoint(httpserver):
    return Documenting(httpserver)
