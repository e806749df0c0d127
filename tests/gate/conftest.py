"""The planes and the dialects that the shared suite runs over."""

from importlib import import_module

import pytest

PLANES = {"control": "ControlPlane", "data": "DataPlane"}


@pytest.fixture
def new_plane(wall):
    """Return a function that makes a plane of this name."""
    dialects, made = import_module("tests.support.dialects"), []

    def new(name):
        made.append(getattr(dialects, PLANES[name])())
        return made[-1]

    yield new
    for plane in made:
        plane.close()


@pytest.fixture(params=PLANES)
def plane(request, new_plane):
    """Return each plane in turn: call it with a question."""
    return new_plane(request.param)


@pytest.fixture
def both(new_plane):
    """Return both planes as one: call it with a question, it returns the answer that both gave."""
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
    """Return a function that tells a visit in the dialect: ``method, host, client, proto, uri``."""
    return import_module("tests.support.dialects").DIALECTS[dialect]
