"""Publishing on one host: missing files are written again, and existing ones are not rewritten."""

import pytest
from django.conf import settings

from gatewall.engine.snapshot import Segment
from gatewall.publication.publisher import publish
from gatewall.snapshot.host_paths import policy_files
from policies import services

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def files():
    services.block_network(actor="alice", network="203.0.113.7")
    return policy_files(settings.CONFIG)


def segment_file(manifest, name):
    return settings.CONFIG.home / "policy" / "segments" / manifest.segments[name].sha256


def test_policy_in_force_is_not_published_again(files):
    before = publish(files)

    assert publish(files) == before


def test_change_rewrites_only_the_segments_that_it_touches(files):
    before = publish(files)

    services.block_country(actor="alice", country_code="NZ")

    after = publish(files)
    changed = {name for name, ref in after.segments.items() if before.segments.get(name) != ref}
    assert changed == {Segment.BLOCKED_COUNTRIES}


@pytest.mark.parametrize("lost", ["deleted", "cut short"])
def test_a_lost_segment_is_written_again(files, lost):
    before = publish(files)
    path = segment_file(before, Segment.REVOCATIONS)
    if lost == "deleted":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1])

    after = publish(files)

    assert files.segment(after.segments[Segment.REVOCATIONS])


def test_damaged_manifest_is_published_again(files):
    publish(files)
    current = settings.CONFIG.home / "policy" / "current"
    current.write_bytes(b"x" + current.read_bytes())

    publish(files)

    assert files.manifest() is not None
