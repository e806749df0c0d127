"""A clock that differs from the database's: one line from `migrate` and an error of `check --deploy`."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from gatewall.install import clock
from gatewall.install.checks import check_rows
from gatewall.models import Node, PolicyRevision
from gatewall.publication import nodes

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def migrated():
    said = StringIO()
    call_command("migrate", verbosity=0, stderr=said)
    return said.getvalue()


def found():
    return [message for message in check_rows() if message.id == "gatewall.E006"]


def test_a_clock_that_agrees_with_the_database_is_fine():
    Node.objects.create(name="host", revision=0, seen_at=timezone.now())
    PolicyRevision.objects.create(number=1, committed_at=timezone.now() + clock.TOLERANCE / 2)

    assert (migrated(), found()) == ("", [])


@pytest.mark.parametrize("entry", ["host", "revision"])
def test_a_clock_behind_an_entry_of_the_database_is_one_line_with_the_fix(entry):
    later = timezone.now() + HOUR
    if entry == "host":
        Node.objects.create(name="host", revision=0, seen_at=later)
    else:
        PolicyRevision.objects.create(number=1, committed_at=later)

    said = migrated()

    assert said.startswith("The clock of this host shows ")
    assert f"but the database has an entry of {later:%Y-%m-%d %H:%M:%S} UTC. Set the clock by a time server" in said
    assert said.count("\n") == 1
    assert [message.hint for message in found()] == [clock.FIX]


@pytest.mark.parametrize("difference", [-HOUR, HOUR])
def test_a_clock_that_differs_from_the_database_server_is_found(difference, monkeypatch):
    monkeypatch.setattr(nodes, "database_now", lambda: timezone.now() + difference)

    assert "but that of the database server " in clock.problem()
