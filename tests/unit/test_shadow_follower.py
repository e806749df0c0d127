"""A process follows the published shadow policy: it combines the overlay with the live policy."""

import json
import os

import pytest

from gatewall.engine.hosts import Access, Host
from gatewall.gate import shadow_follower
from gatewall.gate.shadow import Shadow
from gatewall.gate.shadow_follower import ShadowFollower, read_reports
from gatewall.snapshot import manifest as manifests
from gatewall.snapshot import overlay as overlays
from gatewall.snapshot.manifest import ManifestRefused
from gatewall.snapshot.overlay import Overlay
from gatewall.snapshot.published import PublishedPolicies
from tests.support.cast import BOB, OFFICE, a_ports
from tests.support.processes import wait_until
from tests.unit.publications import KEY, publish, put, some_files
from tests.unit.shadows import publish_shadow
from tests.unit.test_shadow import Amendments

OPEN, CLOSED = {OFFICE: "public"}, {OFFICE: "denied"}


class Process:
    """A process that answers with the live policy of these files, and follows the shadow policy."""

    def __init__(self, files, folder):
        ports = a_ports()
        self.live = PublishedPolicies(files)
        self.shadow = Shadow(ports, ports, Amendments())
        self.reports = folder / "shadow"
        self.follower = ShadowFollower(files, self.live.built, self.shadow, self.reports)

    def turn(self):
        """Follow both; return the access of the office under the shadow policy, None without one."""
        self.live.refresh()
        self.follower.turn()
        active = self.shadow.policy
        return active and active.policy.domains.match(Host.parse(OFFICE)).access

    def report(self):
        self.follower._reported_at = float("-inf")
        self.follower.turn()
        return next(iter(read_reports(self.reports).values()), None)


@pytest.fixture
def files(tmp_path):
    return some_files(tmp_path)


@pytest.fixture
def process(files, tmp_path):
    return Process(files, tmp_path)


def test_without_an_overlay_there_is_no_shadow_and_no_report(process, files):
    publish(files, domains=OPEN)

    assert process.turn() is None
    assert process.report() is None


def test_replaced_segments_are_the_shadows_and_the_others_the_live_ones(process, files):
    live = publish(files, domains=OPEN)
    publish_shadow(files, live, "domains", domains=CLOSED)

    assert process.turn() is Access.DENIED
    active, policy = process.shadow.policy.policy, process.live.current()
    assert (active.version, active.users) == (policy.version, policy.users)
    assert active.waf is policy.waf
    assert policy.domains.match(Host.parse(OFFICE)).access is Access.PUBLIC


def test_a_live_change_of_another_segment_is_in_the_shadow_at_once(process, files):
    live = publish(files, 1, domains=OPEN)
    publish_shadow(files, live, "domains", domains=CLOSED)
    process.turn()
    publish(files, 2, domains=OPEN, users=[BOB], revoked=["a-session"])

    assert process.turn() is Access.DENIED
    active = process.shadow.policy.policy
    assert (active.version.revision, list(active.users), active.revoked_sessions) == (2, [BOB.id], {"a-session"})


def test_a_live_change_of_a_replaced_segment_suspends_the_shadow_until_it_is_compiled_again(process, files):
    live = publish(files, 1, domains=OPEN)
    publish_shadow(files, live, "domains", domains=CLOSED)
    process.turn()
    live = publish(files, 2, domains={OFFICE: "authenticated"})

    assert process.turn() is None
    assert process.follower.problem == ""
    publish_shadow(files, live, "domains", domains=CLOSED)
    assert process.turn() is Access.DENIED


def test_a_segment_that_the_shadow_lacks_is_left_out(process, files):
    live = publish(files, domains=OPEN, blocked=["192.0.2.0/24"])
    publish_shadow(files, live, "domains", domains=CLOSED, removed=["blocked-networks/manual"])
    process.turn()

    assert "blocked-networks/manual" in process.live.built().tables
    assert process.shadow.policy.policy.lists._blocked == []


def test_a_removed_overlay_removes_the_shadow_and_the_report(process, files):
    publish_shadow(files, publish(files, domains=OPEN), "domains", domains=CLOSED)
    process.turn()
    assert process.report() is not None
    files.publish_overlay(None)

    assert process.turn() is None
    assert process.report() is None


@pytest.mark.parametrize("damage", ["nonsense", "segment", "live manifest", "other key"])
def test_a_refused_overlay_is_reported_and_the_live_policy_stays(process, files, tmp_path, damage, caplog):
    live = publish(files, domains=OPEN)
    overlay = publish_shadow(files, live, "domains", domains=CLOSED)
    path = files.folder / "shadow"
    if damage == "nonsense":
        put(path, b"nonsense")
    elif damage == "segment":
        put(files.folder / "segments" / overlay.segments["domains"].ref.sha256, b"nonsense")
    elif damage == "live manifest":
        put(path, (files.folder / "current").read_bytes())
    else:
        put(path, overlays.encode(overlay, b"another key"))

    assert process.turn() is None
    assert process.report()["problem"]
    assert "shadow policy refused" in caplog.text
    assert process.live.current().version.revision == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_after_an_unexpected_error_is_reported_the_process_follows_again(process, files, monkeypatch):
    publish_shadow(files, publish(files, domains=OPEN), "domains", domains=CLOSED)
    process.turn()
    monkeypatch.setattr(shadow_follower, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(shadow_follower, "_LEAST_PAUSE", 0.02)
    follower, stamp, calls = process.follower, files.overlay_stamp, []

    def failing():
        calls.append(process.shadow.policy)
        if len(calls) <= 3:
            raise LookupError
        return stamp()

    monkeypatch.setattr(files, "overlay_stamp", failing)
    follower.start()
    try:
        wait_until(lambda: len(calls) > 2)
        wait_until(lambda: "LookupError" in str([each["problem"] for each in read_reports(process.reports).values()]))
        wait_until(lambda: len(calls) > 3 and process.shadow.policy is not None)
    finally:
        follower.close()

    assert calls[0] is not None
    assert calls[1:4] == [None] * 3  # suspended, instead of using the previous overlay
    assert follower.problem == ""


def test_an_overlay_does_not_pass_for_a_manifest(files):
    overlay = publish_shadow(files, publish(files, domains=OPEN), "domains", domains=CLOSED)
    with pytest.raises(ManifestRefused):
        manifests.decode(overlays.encode(overlay, KEY), KEY)


def test_a_read_overlay_is_the_written_one(files):
    overlay = publish_shadow(files, publish(files, domains=OPEN), "domains", domains=CLOSED, removed=["waf-rules"])

    assert files.overlay() == overlay
    assert overlays.decode(overlays.encode(Overlay("x", 1, 2, {}, {}), KEY), KEY) == Overlay("x", 1, 2, {}, {})


def test_segments_of_the_shadow_are_kept_while_it_exists(files):
    live = publish(files, 1, domains=OPEN)
    overlay = publish_shadow(files, live, "domains", domains=CLOSED)
    path = files.folder / "segments" / overlay.segments["domains"].ref.sha256
    os.utime(path, (0, 0))
    publish(files, 2, domains=OPEN, users=[BOB])
    assert path.exists()

    files.publish_overlay(None)
    assert path.exists()  # a reader may still open it
    os.utime(path, (0, 0))
    publish(files, 3, domains=OPEN)
    assert not path.exists()


def test_the_report_has_the_figures_and_the_last_seconds(process, files):
    publish_shadow(files, publish(files, domains=OPEN), "domains", domains=CLOSED, name="mine")
    process.turn()
    process.shadow.figures.answers = 7
    report = process.report()

    assert (report["overlay"], report["active"], report["problem"]) == ("mine", True, "")
    assert (report["figures"]["shadow"], report["figures"]["answers"]) == ("mine", 7)
    assert report["recent"]["answers"] == 7


def test_reports_of_dead_processes_are_removed(tmp_path):
    for name in ("1-a.json", "2-b.json", "3-c.json"):
        (tmp_path / name).write_text(json.dumps({"layout": 1, "active": True}))
    (tmp_path / "4-d.json").write_text("[]")
    (tmp_path / "2-b.json").write_text("{")
    os.utime(tmp_path / "3-c.json", (0, 0))

    assert read_reports(tmp_path) == {"1-a": {"layout": 1, "active": True}}
    assert not (tmp_path / "3-c.json").exists()
    assert read_reports(tmp_path / "missing") == {}


def test_a_thread_follows_the_published_overlay(process, files, monkeypatch):
    monkeypatch.setattr(shadow_follower, "LOOK_SECONDS", 0.01)
    publish_shadow(files, publish(files, domains=OPEN), "domains", domains=CLOSED)
    process.live.refresh()
    process.follower.start()
    try:
        wait_until(lambda: process.shadow.policy is not None)
    finally:
        process.follower.close()
