"""Requests that the WAF would refuse without monitor mode: equal records and rows from both planes."""

import pytest
from django.conf import settings

from audit.models import AccessLog
from audit.storage import ingest
from gatewall.policy import system_settings
from policies import services
from tests.support.dialects import DIALECTS
from tests.support.logs import listed

pytestmark = pytest.mark.django_db
RULES = {"weak": ("weak-word", 3), "strong": ("strong-word", 5)}
URIS = ("/weak-word", "/strong-word", "/weak-word/strong-word", "/harmless")
MONITORED = [("/weak-word", 3, False), ("/strong-word", 5, True), ("/weak-word/strong-word", 8, True)]


@pytest.fixture
def ask(wall, plane):
    """Return a function that asks for each URI and returns the rows with a score, and the statuses."""
    for name, (pattern, score) in RULES.items():
        services.create_waf_rule(actor="alice", name=name, pattern=pattern, score=score)
    services.create_waf_rule(actor="alice", name="watch", pattern="word", action="monitor", score=10)

    def asked():
        statuses = [plane(DIALECTS["forward"](uri=uri)).status for uri in URIS]
        ingest.ship(settings.GATEWALL_HOME / "spool")
        rows = AccessLog.objects.filter(waf_score__isnull=False).order_by("at", "decision_id")
        return [(row.path, row.waf_score, row.would_refuse is True) for row in rows], statuses

    return asked


def found(admin, **filters):
    return listed(admin, path="/*", **filters)["results"]


def test_in_monitor_mode_a_row_has_the_score_and_whether_it_would_have_been_refused(ask, admin):
    system_settings.change(actor="alice", waf_mode="monitor")

    rows, statuses = ask()

    assert rows == MONITORED
    assert set(statuses) == {401}
    assert {row["path"] for row in found(admin, would_refuse="true")} == {"/strong-word", "/weak-word/strong-word"}
    assert [row["path"] for row in found(admin, waf_score_min="6")] == ["/weak-word/strong-word"]
    assert {row["path"] for row in found(admin, would_refuse="false")} == {"/weak-word", "/harmless"}


def test_in_block_mode_a_row_has_only_the_score(ask):
    rows, statuses = ask()

    assert rows == [(path, score, False) for path, score, _ in MONITORED]
    assert statuses == [401, 403, 403, 401]
