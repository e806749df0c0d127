"""Published policy files: versions only increase, files are verified when read and never changed in place."""

from dataclasses import replace

import pytest

from gatewall.credentials.manifest_key import manifest_key
from gatewall.snapshot import manifest as manifests
from gatewall.snapshot.files import NotForward
from gatewall.snapshot.manifest import ManifestRefused, SegmentRef
from tests.unit.publications import DIGEST, EPOCH, OTHER_EPOCH, a_manifest, publish, some_files


def path_of(folder, ref):
    return folder / "segments" / ref.sha256


def test_without_a_publication_manifest_and_stamp_are_none(files):
    assert files.manifest() is None
    assert files.stamp() is None


def test_a_publication_is_read_back(files):
    manifest = publish(files, blocked=["203.0.113.9"])

    assert files.manifest() == manifest
    assert {name: len(files.segment(ref)) for name, ref in manifest.segments.items()} == {
        name: ref.size for name, ref in manifest.segments.items()
    }


def test_a_publication_changes_the_stamp(files):
    publish(files, 1)
    before = files.stamp()

    publish(files, 2)

    assert files.stamp() != before


def test_the_same_content_published_again_changes_the_stamp(files):
    manifest = publish(files)
    before = files.stamp()

    files.publish(manifest)

    assert files.stamp() != before


# Forward only.


@pytest.mark.parametrize(
    "back",
    [
        a_manifest(4, segments={}),
        a_manifest(5, revocations=0, segments={}),
        a_manifest(9, epoch=OTHER_EPOCH, segments={}),
        a_manifest(9, epoch=OTHER_EPOCH, parent_epoch=OTHER_EPOCH, segments={}),
    ],
)
def test_a_manifest_that_does_not_follow_is_not_published(files, back):
    files.publish(a_manifest(5, revocations=1, segments={}))

    with pytest.raises(NotForward):
        files.publish(back)
    assert files.manifest().version.revision == 5


@pytest.mark.parametrize(
    "later",
    [
        a_manifest(5, segments={}),
        a_manifest(6, segments={}),
        a_manifest(5, revocations=1, segments={}),
        a_manifest(1, epoch=OTHER_EPOCH, parent_epoch=EPOCH, segments={}),
    ],
)
def test_a_manifest_that_follows_is_published(files, later):
    files.publish(a_manifest(5, segments={}))

    files.publish(later)

    assert files.manifest() == later


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\0" * 4096, b"x" * (manifests.MAX_MANIFEST_BYTES + 1)])
def test_a_damaged_current_does_not_stop_a_publication(files, folder, damage):
    files.publish(a_manifest(5, segments={}))
    (folder / "current").write_bytes(damage)

    files.publish(a_manifest(3, segments={}))

    assert files.manifest().version.revision == 3


def test_a_current_of_another_key_does_not_stop_a_publication(files, tmp_path):
    some_files(tmp_path, manifest_key("the key before it was changed")).publish(a_manifest(9, segments={}))

    files.publish(a_manifest(1, segments={}))

    assert files.manifest().version.revision == 1


# Verified when read.


def test_every_flipped_byte_of_a_segment_is_refused(files, folder):
    ref = files.write_segment(b"0123456789", "a")

    for at in range(10):
        damaged = bytearray(b"0123456789")
        damaged[at] ^= 1
        path_of(folder, ref).write_bytes(damaged)
        with pytest.raises(ManifestRefused, match="damaged"):
            files.segment(ref)


@pytest.mark.parametrize("damaged", [b"", b"012345678", b"01234567890", b"0123456789" * 2])
def test_a_segment_of_another_size_is_refused(files, folder, damaged):
    ref = files.write_segment(b"0123456789", "a")
    path_of(folder, ref).write_bytes(damaged)

    with pytest.raises(ManifestRefused, match="damaged"):
        files.segment(ref)


def test_a_manifest_that_names_another_size_is_not_believed(files):
    ref = files.write_segment(b"0123456789", "a")

    with pytest.raises(ManifestRefused, match="damaged"):
        files.segment(replace(ref, size=9))


def test_a_missing_segment_raises_an_os_error(files):
    with pytest.raises(FileNotFoundError):
        files.segment(SegmentRef("a", DIGEST, 1))


def test_a_damaged_segment_is_rewritten(files, folder):
    ref = files.write_segment(b"0123456789", "a")
    path_of(folder, ref).write_bytes(b"012345678x")

    assert files.write_segment(b"0123456789", "b") == replace(ref, change="b")
    assert files.segment(ref) == b"0123456789"


def test_an_oversize_current_is_refused(files, folder):
    publish(files)
    (folder / "current").write_bytes((folder / "current").read_bytes() + b" " * manifests.MAX_MANIFEST_BYTES)

    with pytest.raises(ManifestRefused, match="more than"):
        files.manifest()
