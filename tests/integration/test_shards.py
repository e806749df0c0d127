"""Users and tokens in shards: each row is in exactly one shard, and a change rewrites only its shard."""

import hashlib
from types import SimpleNamespace

import pytest
from django.conf import settings

from accounts import services as accounts
from accounts.models import User
from gatewall.engine.segments import (
    DIGEST_SHARDS,
    USERS_A_SHARD,
    kind_of,
    shard_of_git_token,
    shard_of_license,
    shard_of_user,
)
from gatewall.engine.snapshot import Segment
from gatewall.publication.publisher import publish
from gatewall.publication.store import DatabasePolicyStore
from gatewall.snapshot.host_paths import policy_files
from licensing import services as licensing
from licensing.models import GitToken, License
from policies import services as policies

pytestmark = pytest.mark.django_db(transaction=True)
FAR = 7 * USERS_A_SHARD + 5


@pytest.fixture
def files():
    return policy_files(settings.CONFIG)


@pytest.fixture
def people():
    """Return a user in the first shard and one in a far shard, with no users in between."""
    near, far = User(pk=5, username="near"), User(pk=FAR, username="far")
    User.objects.bulk_create([near, far])
    return SimpleNamespace(near=near, far=far)


def policy_of(files):
    store = DatabasePolicyStore(files)
    return store.load(store.version())


def changed_by(files, change):
    """Return the names of the segments that a change rewrites, adds or removes."""
    before = publish(files).segments
    change()
    after = publish(files).segments
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def test_every_user_is_found_once(files, people):
    names = {name for name in publish(files).segments if kind_of(name) == Segment.USERS}

    users = policy_of(files).users

    assert names == {shard_of_user(people.near.pk), shard_of_user(FAR)}  # and no shard in between
    assert list(users) == [people.near.pk, FAR]
    assert [users[id_].username for id_ in users] == ["near", "far"]
    assert {FAR - 1, FAR + 1, 0, USERS_A_SHARD}.isdisjoint(users)


def test_a_changed_user_rewrites_their_shard_alone(files, people):
    changed = changed_by(files, lambda: accounts.change_user(people.far, actor="alice", is_active=False))

    assert changed == {shard_of_user(FAR)}
    assert [user.is_active for user in policy_of(files).users.values()] == [True, False]


def test_the_first_user_of_a_shard_creates_it_and_the_last_removes_it(files, people):
    def leave():
        accounts.delete_user(people.far, actor="alice")

    assert shard_of_user(FAR) in changed_by(files, leave)
    assert set(policy_of(files).users) == {people.near.pk}


def test_a_deleted_user_takes_their_git_tokens_out_of_their_shards(files, people):
    for name in ("laptop", "ci", "desk"):
        licensing.issue_git_token(actor="far", user_id=FAR, name=name, expires_at=None)
    shards = {shard_of_git_token(token.digest) for token in GitToken.objects.all()}

    changed = changed_by(files, lambda: accounts.delete_user(people.far, actor="alice"))

    assert shards <= changed
    assert len(policy_of(files).git_tokens) == 0


def test_a_domain_that_changes_rewrites_every_shard_in_which_it_may_be_named(files, people):
    domain = policies.register_domain(actor="alice", name="app.example", access="authenticated")
    accounts.change_user(people.far, actor="alice", all_domains=False, authorized_domains=[domain])
    licensing.issue_license(actor="alice", name="printer", all_domains=False, authorized_domains=[domain])

    changed_by(files, lambda: policies.remove_domain(domain, actor="alice"))

    policy = policy_of(files)
    assert policy.users[FAR].domains == frozenset()
    assert [state.domains for state in policy.licenses.values()] == [frozenset()]


@pytest.mark.parametrize(
    ("model", "shard_of", "table"),
    [(GitToken, shard_of_git_token, "git_tokens"), (License, shard_of_license, "licenses")],
)
def test_each_token_is_in_the_shard_of_its_digest(files, people, model, shard_of, table):
    ends = [hashlib.sha256(letter.encode()).hexdigest()[1:] for letter in "abc"] + ["0" * 63, "f" * 63]
    digests = [letter + end for letter in DIGEST_SHARDS for end in sorted(ends)]
    owner = {"user_id": FAR} if model is GitToken else {}
    rows = [model(name=f"{number}", prefix="x", digest=digest, **owner) for number, digest in enumerate(digests)]
    model.objects.bulk_create(rows)
    policies.block_country(actor="alice", country_code="NZ")  # so that something is published

    manifest = publish(files)

    found = getattr(policy_of(files), table)
    assert sorted(found) == digests
    assert all(found[digest].digest == digest for digest in digests)
    kind = kind_of(shard_of("0"))
    assert {name for name in manifest.segments if kind_of(name) == kind} == set(map(shard_of, digests))


def test_without_tokens_no_token_shard_exists(files, people):
    names = publish(files).segments

    assert {kind_of(name) for name in names} >= {Segment.USERS}
    assert {kind_of(name) for name in names}.isdisjoint({Segment.GIT_TOKENS, Segment.LICENSES})
