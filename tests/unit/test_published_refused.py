"""Invalid published policy is refused as a whole, and the last valid one stays in use."""

import json
import random
from dataclasses import replace

import pytest

from gatewall.credentials.manifest_key import manifest_key
from gatewall.engine.segments import shard_of_user
from gatewall.engine.snapshot import Segment
from gatewall.snapshot import manifest as manifests
from gatewall.snapshot.published import PublishedPolicies
from tests.support.cast import BOB, OFFICE
from tests.unit.publications import (
    EPOCH,
    KEY,
    OTHER_EPOCH,
    Observer,
    a_manifest,
    publish,
    put,
    revision,
)

USERS = shard_of_user(BOB.id)


@pytest.fixture
def observer():
    return Observer()


@pytest.fixture
def policies(files, observer):
    return PublishedPolicies(files, observer, observer.reload)


def flipped(data, numbers):
    copy = bytearray(data)
    copy[numbers.randrange(len(copy))] ^= 1 << numbers.randrange(8)
    return bytes(copy)


def signed(manifest, key=KEY):
    return manifests.encode(manifest, key)


def wrong_manifests(good):
    """Yield manifests that are invalid as a whole, most of them with a valid signature."""
    version, body = good.version, signed(good).partition(b"\n")[2]
    settings = good.segments[Segment.SETTINGS]
    resized = {**good.segments, Segment.SETTINGS: replace(settings, size=settings.size + 1)}
    swapped = {**good.segments, Segment.SETTINGS: good.segments[USERS]}
    fewer = {name: ref for name, ref in good.segments.items() if name != Segment.REVOCATIONS}
    yield from (signed(replace(good, version=replace(version, revision=number))) for number in range(-9, 5))
    yield signed(replace(good, version=replace(version, revision=5, revocations=-1)))
    yield signed(replace(good, version=replace(version, revision=5, reloads=-1)))
    yield signed(replace(good, version=replace(version, epoch=OTHER_EPOCH)))
    yield signed(replace(good, version=replace(version, epoch=OTHER_EPOCH), parent_epoch=OTHER_EPOCH))
    yield from (signed(good, key) for key in (b"", b"key", manifest_key(""), manifest_key("another")))
    yield from (signed(replace(good, segments=segments)) for segments in (resized, swapped, fewer, {}))
    yield signed(replace(good, segments={**good.segments, "surprise": settings}))
    yield from (signed(good).partition(b"\n")[0] + b"\n" + body + more for more in (b" ", b"\n", b"{}"))
    yield b"0" * 64 + b"\n" + body
    yield b"\n" + body
    yield body
    yield json.dumps({"schema": 1}).encode()
    yield signed(good) + b" " * manifests.MAX_MANIFEST_BYTES


def test_a_thousand_corrupted_publications_are_all_refused(policies, files, folder, observer, tmp_path):
    publish(files, 5)
    assert revision(policies) == 5
    last_good = policies.current()
    manifest = publish(files, 6, users=[BOB], revoked=["s"], domains={OFFICE: "public"}, waf_threshold=9)
    current, numbers = (folder / "current").read_bytes(), random.Random(1)  # noqa: S311 - examples, no secrets
    changed = [manifest.segments[name] for name in (USERS, Segment.DOMAINS, Segment.SETTINGS)]
    variants = [(None, data) for data in wrong_manifests(manifest)]
    variants += [(None, current[: len(current) * part // 200]) for part in range(200)]
    variants += [(None, flipped(current, numbers)) for _ in range(400)]
    for ref in changed:
        data = files.segment(ref)
        variants += [(ref, data[: len(data) * part // 40]) for part in range(40)]
        variants += [(ref, flipped(data, numbers)) for _ in range(90)]
    taken = []

    for number, (ref, damaged) in enumerate(variants):
        put(folder / "current", current if ref else damaged)
        if ref:
            path = folder / "segments" / ref.sha256
            whole = path.read_bytes()
            put(path, damaged)
        policies.refresh()
        if ref:
            put(path, whole)
        if policies.current() is not last_good or len(observer.rejections) != number + 1:
            taken.append((ref, damaged))
            break

    assert taken == []
    assert len(variants) > 1000
    assert observer.loads == [(5, False)]
    put(folder / "current", current)
    assert revision(policies) == 6  # it was valid all the time


@pytest.mark.parametrize(
    "damage", [lambda data: data[:0], lambda data: data[:-1], lambda data: data[:70] + b"x" + data[71:]]
)
def test_without_any_good_one_there_is_no_policy(policies, files, folder, observer, damage):
    publish(files)
    put(folder / "current", damage((folder / "current").read_bytes()))

    assert revision(policies) is None
    assert len(observer.rejections) == 1


def test_a_refused_publication_is_read_once(policies, files, folder, observer):
    put_nonsense(files, folder)

    for _ in range(3):
        policies.refresh()

    assert len(observer.rejections) == 1


def put_nonsense(files, folder):
    publish(files)
    put(folder / "current", b"nonsense")


def test_a_refusal_is_logged_by_its_name(policies, files, folder, caplog):
    put_nonsense(files, folder)

    policies.refresh()

    assert [record.getMessage() for record in caplog.records] == ["policy.rejected: not signed with our key"]


def test_a_process_without_an_observer_refuses_as_well(files, folder):
    put_nonsense(files, folder)

    assert revision(PublishedPolicies(files)) is None


@pytest.mark.parametrize("back", [a_manifest(4), a_manifest(5, revocations=0), a_manifest(9, epoch=OTHER_EPOCH)])
def test_an_older_manifest_is_refused(policies, files, folder, observer, back):
    good = publish(files, 5)
    good = replace(good, version=replace(good.version, revocations=1))
    files.publish(good)
    revision(policies)

    put(folder / "current", signed(replace(good, version=back.version)))

    assert revision(policies) == 5
    assert policies.current().version.revocations == 1
    assert len(observer.rejections) == 1


def test_a_confirmed_new_epoch_is_accepted(policies, files, observer):
    publish(files, 5)
    revision(policies)

    publish(files, 1, epoch=OTHER_EPOCH, parent_epoch=EPOCH)

    assert revision(policies) == 1
    assert policies.current().version.epoch == OTHER_EPOCH


def test_a_new_process_has_no_epoch_to_keep(policies, files):
    publish(files, 1, epoch=OTHER_EPOCH, parent_epoch="whatever it was")

    assert revision(policies) == 1
