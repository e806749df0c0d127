"""Assembly of a policy from segments: unchanged tables are reused, unusable segments are refused."""

from dataclasses import replace

import pytest

from gatewall.engine.access_rules.rules import AccessRule
from gatewall.engine.groups import GroupState
from gatewall.engine.hosts import Access
from gatewall.engine.segments import (
    SHARD_OF,
    USERS_A_SHARD,
    blocked_networks_of,
    shard_of_git_token,
    shard_of_license,
    shard_of_user,
)
from gatewall.engine.snapshot import Segment, Version
from gatewall.snapshot import codec
from gatewall.snapshot.assembly import Assembly, SegmentData, SegmentRefused
from tests.support.cast import ALICE, BOB, GIT_TOKENS, LICENSES, OFFICE, a_rule, a_source

USERS, TOKENS, OPEN = (
    shard_of_user(BOB.id),
    shard_of_git_token(GIT_TOKENS[0].digest),
    shard_of_license(LICENSES[0].digest),
)
TABLES = {
    Segment.SETTINGS: lambda policy: policy.settings,
    Segment.DOMAINS: lambda policy: policy.domains,
    Segment.ALLOWED_NETWORKS: lambda policy: policy.lists._allowed,
    Segment.BLOCKED_COUNTRIES: lambda policy: policy.blocked_countries,
    Segment.WAF_RULES: lambda policy: policy.waf,
    Segment.GROUPS: lambda policy: policy.groups,
    Segment.ACCESS_RULES: lambda policy: policy.access_rules,
    USERS: lambda policy: policy.users,
    TOKENS: lambda policy: policy.git_tokens,
    OPEN: lambda policy: policy.licenses,
    Segment.REVOCATIONS: lambda policy: policy.revoked_sessions,
    blocked_networks_of("manual"): lambda policy: policy.lists._blocked[0],
}
CHANGED = {
    Segment.SETTINGS: {"waf_threshold": 9},
    Segment.DOMAINS: {"domains": {"files.example": "public"}},
    Segment.ALLOWED_NETWORKS: {"allowed": ["10.0.0.0/8"]},
    Segment.BLOCKED_COUNTRIES: {"countries": ["NZ"]},
    Segment.WAF_RULES: {"rules": [a_rule("other")]},
    Segment.GROUPS: {"groups": [GroupState(1, "family", True, frozenset())]},
    Segment.ACCESS_RULES: {"access_rules": [AccessRule(1, "rule", Access.DENIED)]},
    USERS: {"users": [BOB]},
    TOKENS: {"git_tokens": [replace(GIT_TOKENS[0], expires_at=1.0), *GIT_TOKENS[1:]]},
    OPEN: {"licenses": [replace(LICENSES[0], is_active=False), *LICENSES[1:]]},
    Segment.REVOCATIONS: {"revoked": ["session-9"]},
    blocked_networks_of("manual"): {"blocked": ["203.0.113.0/24"]},
}
USUAL = {"domains": {OFFICE: "public"}, "rules": [a_rule("attack")], "blocked": ["203.0.113.9"]}


class Reader:
    """Segments in memory, identified by their content; records which were read."""

    def __init__(self, **source):
        self.data = {name: codec.encode(name, rows) for name, rows in a_source(**(USUAL | source)).items()}
        self.read = []

    def segments(self):
        return {
            name: SegmentData(str(hash(data)), lambda name=name: self._get(name)) for name, data in self.data.items()
        }

    def _get(self, name):
        self.read.append(name)
        return self.data[name]


def build(assembly, reader, revision=1):
    return assembly.build(Version(revision), reader.segments())


def test_a_policy_has_the_version_it_is_built_for():
    assert build(Assembly(), Reader(), 7).version == Version(7)


@pytest.mark.parametrize("name", TABLES, ids=str)
def test_a_change_of_one_segment_keeps_every_other_table(name):
    assembly = Assembly()
    before, reader = build(assembly, Reader()), Reader(**CHANGED[name])

    after = build(assembly, reader, 2)

    assert reader.read == [name]
    assert [each for each, table in TABLES.items() if table(after) is not table(before)] == [name]


def test_a_policy_that_was_handed_out_does_not_change():
    assembly = Assembly()
    before = build(assembly, Reader())

    build(assembly, Reader(users=[BOB]), 2)

    assert set(before.users) == {1, 2, 3}


def test_a_removed_source_no_longer_blocks():
    assembly = Assembly()
    reader = Reader()
    build(assembly, reader)
    del reader.data[blocked_networks_of("manual")]

    assert build(assembly, reader, 2).lists._blocked == []


def test_rows_are_found_in_all_shards_and_in_no_other():
    far = replace(BOB, id=3 * USERS_A_SHARD, username="far")
    policy = build(Assembly(), Reader(users=[ALICE, far]))

    assert policy.users == {ALICE.id: ALICE, far.id: far}
    assert policy.users.get(far.id - 1) is None
    assert policy.users.get(far.id + USERS_A_SHARD) is None
    assert policy.users.get(-1) is None


def test_a_removed_shard_has_no_rows():
    assembly, far = Assembly(), replace(BOB, id=USERS_A_SHARD)
    build(assembly, Reader(users=[ALICE, far]))

    policy = build(assembly, Reader(users=[ALICE]), 2)

    assert policy.users == {ALICE.id: ALICE}


def test_each_blocklist_source_has_its_own_table():
    reader = Reader()
    for source in ("import:spamhaus", "auto-ban"):
        reader.data[blocked_networks_of(source)] = codec.encode(blocked_networks_of(source), [])

    assert len(build(Assembly(), reader).lists._blocked) == 3


def break_missing(data):
    del data[Segment.REVOCATIONS]


def break_whole(data):
    data[Segment.USERS] = data[USERS]  # no look-up would find a row in it


def break_unknown(data):
    data["surprises"] = codec.encode(Segment.REVOCATIONS, [])


def break_nameless_source(data):
    data["blocked-networks"] = codec.encode(blocked_networks_of("manual"), [])


def break_bytes(data):
    data[USERS] = data[USERS][:-1]


def break_kind(data):
    data[USERS] = codec.encode(OPEN, LICENSES[:1])


def break_pattern(data):
    data[Segment.WAF_RULES] = codec.encode(Segment.WAF_RULES, [a_rule("(")])


def break_time_zone(data):
    rule = AccessRule(1, "rule", Access.DENIED, weekdays=frozenset({1}), time_zone="Mars/Olympus")
    data[Segment.ACCESS_RULES] = codec.encode(Segment.ACCESS_RULES, [rule])


def break_no_settings(data):
    data[Segment.SETTINGS] = codec.encode(Segment.SETTINGS, [])


def break_two_settings(data):
    data[Segment.SETTINGS] = codec.encode(Segment.SETTINGS, a_source()[Segment.SETTINGS] * 2)


BREAKS = [
    break_time_zone,
    break_missing,
    break_whole,
    break_unknown,
    break_nameless_source,
    break_bytes,
    break_kind,
    break_pattern,
    break_no_settings,
    break_two_settings,
]


@pytest.mark.parametrize("damage", BREAKS, ids=lambda damage: damage.__name__)
def test_a_segment_that_cannot_be_used_is_refused(damage):
    reader = Reader()
    damage(reader.data)

    with pytest.raises(SegmentRefused):
        build(Assembly(), reader)


@pytest.mark.parametrize("name", [name for name in Segment if name not in SHARD_OF])
def test_a_missing_segment_is_named(name):
    reader = Reader()
    del reader.data[name]

    with pytest.raises(SegmentRefused, match=f"{name.value} missing"):
        build(Assembly(), reader)


@pytest.mark.parametrize("damage", BREAKS, ids=lambda damage: damage.__name__)
def test_after_a_refusal_the_previous_tables_stay(damage):
    assembly = Assembly()
    before, broken, same = build(assembly, Reader()), Reader(domains={OFFICE: "denied"}), Reader()
    damage(broken.data)
    with pytest.raises(SegmentRefused):
        build(assembly, broken, 2)

    after = build(assembly, same, 3)

    assert same.read == []
    assert all(table(after) is table(before) for table in TABLES.values())


def test_an_error_of_the_system_is_not_a_refusal():
    segments = Reader().segments()

    def fail():
        raise FileNotFoundError

    with pytest.raises(FileNotFoundError):
        Assembly().build(Version(1), segments | {USERS: SegmentData("x", fail)})


def test_a_segment_without_identity_is_read():
    assembly, reader = Assembly(), Reader()
    segments = {name: SegmentData("", data.read) for name, data in reader.segments().items()}

    assert assembly.build(Version(1), segments).users[ALICE.id] == ALICE
