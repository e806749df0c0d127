"""The planes and dialects for which the shared suite runs."""

from importlib import import_module

import pytest

PLANES = {"control": "ControlPlane", "data": "DataPlane"}


@pytest.fixture
def new_plane(wall):
    """Return a function that starts the plane of a name."""
    dialects, made = import_module("tests.support.dialects"), []

    def new(name):
        made.append(getattr(dialects, PLANES[name])())
        return made[-1]

    yield new
    for plane in made:
        plane.close()


@pytest.fixture(params=PLANES)
def plane(request, new_plane):
    """Return each plane in turn; call it with a subrequest."""
    return new_plane(request.param)


@pytest.fixture
def both(new_plane):
    """Return a function that asks both planes, asserts equal answers, and returns the answer."""
    planes = [new_plane(name) for name in PLANES]

    def ask(question):
        control, data = (plane(question) for plane in planes)
        assert control == data, question
        return data

    return ask


@pytest.fixture(params=["auth", "forward", "original-url", "envoy"])
def dialect(request, wall):
    """Return the name of each dialect in turn."""
    return request.param


@pytest.fixture
def visit(dialect):
    """Return a function that builds the subrequest of a visit: ``method, host, client, proto, uri``."""
    return import_module("tests.support.dialects").DIALECTS[dialect]
