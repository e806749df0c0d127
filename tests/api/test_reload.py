"""Reload over HTTP."""

import os

import pytest

from gatewall.engine.snapshot import Version
from gatewall.policy import revisions
from gatewall.snapshot.host_paths import run_folder
from gatewall.snapshot.worker_report import WorkerReport
from tests.support.cast import a_policy

pytestmark = pytest.mark.django_db(transaction=True)
LATER = 10**15


def test_reload_publishes_everything_again_and_names_this_host(admin, settings):
    before = revisions.current()

    body = admin.post("/system/reload").json()

    assert body["revision"] == before.revision
    assert revisions.current().reloads > before.reloads
    (node,) = body["nodes"]
    assert (node["revision"], node["problem"], body["published_at"]) == (before.revision, "", node["published_at"])


def test_reload_names_the_workers_of_this_host(admin, settings):
    report = WorkerReport(run_folder(settings.CONFIG.home) / "workers")
    version = Version(7, reloads=LATER, epoch=revisions.current().epoch)
    report.loaded(a_policy(version=version))

    body = admin.post("/system/reload").json()

    worker = {"pid": os.getpid(), "revision": 7, "rejected": "", "reloads": LATER, "heads": {}}
    assert body["nodes"][0]["workers"] == [worker]
    assert "policy_pending" not in body


def test_reload_is_pending_while_a_worker_has_not_read_again(admin, settings, monkeypatch):
    monkeypatch.setattr("gatewall.publication.announcement._WAIT_SECONDS", 0)
    report = WorkerReport(run_folder(settings.CONFIG.home) / "workers")
    report.loaded(a_policy(version=Version(7)))

    assert admin.post("/system/reload").json()["policy_pending"] is True


def test_only_admins_may_reload(user):
    assert user.post("/system/reload").status_code == 403
