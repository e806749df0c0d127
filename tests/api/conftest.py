"""Fixtures of the tests of the API."""

from importlib import import_module

import pytest


@pytest.fixture
def log(tmp_path):
    """Return a function that brings records to the database by way of a spool."""

    def write(*records):
        writer = import_module("audit.spool").SpoolWriter(tmp_path / "log", "node-1")
        for record in records:
            writer.write(record)
        writer.close()
        import_module("audit.ingest").ship(tmp_path / "log")

    return write


@pytest.fixture
def visits(auth, settings):
    """Return a function that asks the gate and returns the decision id; the answers are in the log then."""

    def visit(**headers):
        answer = auth(**headers)
        import_module("audit.ingest").ship(settings.GATEWALL_HOME / "spool")
        return answer.headers["X-Gatewall-Decision-Id"]

    return visit
