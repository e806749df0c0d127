"""Which segment holds the row of a key, and the parts of a segment's name."""

import pytest

from gatewall.engine import segments
from gatewall.engine.snapshot import Segment

KEYS = {Segment.USERS: 70_000, Segment.GIT_TOKENS: "a" * 64, Segment.APP_TOKENS: "b" * 64, Segment.LICENSES: "0" * 64}


@pytest.mark.parametrize("kind", segments.SHARD_OF)
def test_a_shard_and_its_kind_are_two_names(kind):
    shard = segments.SHARD_OF[kind](KEYS[kind])
    assert shard != kind
    assert segments.kind_of(shard) == segments.kind_of(kind) == kind


@pytest.mark.parametrize("name", [Segment.SETTINGS, "networks/import:a", "other/1", "users"])
def test_a_segment_without_shards_is_its_own_kind(name):
    assert segments.kind_of(name) == name


def test_users_beside_each_other_share_a_shard():
    first, last = segments.USERS_A_SHARD, 2 * segments.USERS_A_SHARD - 1
    assert segments.shard_of_user(first) == segments.shard_of_user(last)
    assert segments.shard_of_user(first - 1) != segments.shard_of_user(first) != segments.shard_of_user(last + 1)


def test_tokens_share_a_shard_by_the_first_letter_of_their_digest():
    assert segments.shard_of_git_token("ab") == segments.shard_of_git_token("af") != segments.shard_of_git_token("bb")
    assert segments.shard_of_license("ab") == segments.shard_of_license("af") != segments.shard_of_license("bb")
