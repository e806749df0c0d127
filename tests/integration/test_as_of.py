"""The policy as of a revision decides as it did at that revision."""

import random

import pytest
from django.utils import timezone

from accounts.models import User
from accounts.services import change_user, delete_user
from gatewall.credentials.check import app_token_subject, git_token_subject, license_subject, session_subject
from gatewall.engine.evaluate import evaluate
from gatewall.engine.model import SubjectKind
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.policy import revisions
from gatewall.publication.compiler import compiled_segment, consistent_read
from gatewall.snapshot.assembly import Assembly, SegmentData
from gatewall.snapshot.pattern_cache import PatternCache
from gatewall.whatif import as_of
from gatewall.whatif.as_of import policy_as_of
from licensing.models import AppToken, GitToken, License
from licensing.services import change_license, issue_app_token, issue_git_token, issue_license, revoke
from policies import services
from policies.history.undo import CannotRestore
from policies.models import AuthorizedDomain, Group
from policies.rules.builtin import seed_waf_rules
from tests.support.cast import a_ports, a_request
from tests.support.history import NAMES, Step, some
from tests.support.proxies import a_user

pytestmark = pytest.mark.django_db
CLIENTS = ("203.0.113.7", "203.0.113.99", "2001:db8::1", "198.51.100.1")
URIS = ("/", "/?q=aaa", "/?q=<script>")


class Credentials:
    """A credential check that accepts every subject of the policy, by kind and id."""

    def subject_of(self, credential, policy, at):
        kind, _, id_ = credential.secret.partition(" ")
        if kind == SubjectKind.USER:
            state = policy.users.get(int(id_))
            return session_subject(state, policy, ("pwd", "otp")) if state else None
        tokens, subject_of = {
            "git-token": (policy.git_tokens, lambda state: git_token_subject(state, policy, at)),
            "app-token": (policy.app_tokens, lambda state: app_token_subject(state, policy, at)),
            "license": (policy.licenses, lambda state: license_subject(state, at)),
        }[kind]
        state = next((each for each in tokens.values() if each.id == int(id_)), None)
        return None if state is None else subject_of(state)


class Change(Step):
    """Random changes of the policy, and of its users and licenses."""

    def do_user(self):
        a_user(f"user-{User.objects.count()}-{self.chance.random()}", all_domains=self.chance.random() < 0.3)

    def do_change_user(self):
        if row := some(User, self.chance):
            domains = [each for each in AuthorizedDomain.objects.all() if self.chance.random() < 0.5]
            groups = [each for each in Group.objects.all() if self.chance.random() < 0.5]
            chosen = {"is_active": self.chance.random() < 0.8, "all_domains": self.chance.random() < 0.3}
            change_user(row, actor="x", authorized_domains=domains, groups=groups, **chosen)

    def do_delete_user(self):
        if row := some(User, self.chance):
            delete_user(row, actor="x")

    def do_git_token(self):
        if row := some(User, self.chance):
            name, end = f"git-{self.chance.random()}", self._moment()
            issue_git_token(actor="x", user_id=row.pk, name=name, expires_at=end)

    def do_app_token(self):
        if row := some(User, self.chance):
            domains = [each for each in AuthorizedDomain.objects.all() if self.chance.random() < 0.7]
            scope = {"all_domains": not domains, "authorized_domains": domains}
            paths = ["/dav"] if self.chance.random() < 0.3 else []
            name, end = f"app-{self.chance.random()}", self._moment()
            issue_app_token(actor="x", user_id=row.pk, name=name, expires_at=end, path_prefixes=paths, **scope)

    def do_license(self):
        domains = [each for each in AuthorizedDomain.objects.all() if self.chance.random() < 0.5]
        name = f"license-{self.chance.random()}"
        issue_license(actor="x", name=name, all_domains=False, authorized_domains=domains)

    def do_change_license(self):
        if row := some(License, self.chance):
            change_license(row, actor="x", is_active=self.chance.random() < 0.5)

    def do_revoke(self):
        model = self.chance.choice([GitToken, AppToken, License])
        if row := some(model, self.chance):
            revoke(row, actor="x")

    def do_two_at_once(self):
        with revisions.as_one_revision("x"):
            self()
            self()


def the_policy() -> PolicySnapshot:
    """Return the policy, compiled from all rows without any cache."""
    with consistent_read() as moment:
        segments = {name: SegmentData("", lambda name=name: compiled_segment(name)) for name in moment.segments}
        return Assembly().build(revisions.current(), segments)


def subjects():
    """Return every subject that ever existed, as the secret that proves it."""
    return [f"{kind} {id_}" for kind in ("user", "git-token", "app-token", "license") for id_ in range(1, 12)]


def requests():
    for client in CLIENTS:
        for host in (*NAMES[:2], "x.example", "c.example"):
            for uri in URIS:
                yield a_request(client=client, host=host, uri=uri, at=MOMENT)
    for host in (*NAMES[:2], "x.example"):
        for secret in subjects():
            yield a_request(client=CLIENTS[-1], host=host, credentials=[secret], at=MOMENT)


MOMENT = timezone.now().timestamp() + 3600
"""A time between the expiries of random entries: some have expired, some have not."""


def decisions(policy):
    """Return the verdict on every request, with the row that decided."""
    ports = a_ports(credentials=Credentials(), country="NZ")
    return [evaluate(request, policy, ports).verdict for request in requests()]


def test_one_process_builds_one_earlier_policy_at_a_time(monkeypatch):
    services.block_country(actor="alice", country_code="AQ")
    monkeypatch.setattr(as_of, "_PATIENCE_SECONDS", 0.0)

    with as_of._kept.lock, pytest.raises(CannotRestore, match="try again"):
        policy_as_of(1)
    assert policy_as_of(1).policy.version.revision == 1


def test_no_patterns_of_an_earlier_policy_are_compiled_for_the_host(monkeypatch):
    wanted = []
    monkeypatch.setattr(PatternCache, "want", lambda *args: wanted.append(args))
    seed_waf_rules(actor="seed")
    before = revisions.current().revision
    services.create_waf_rule(actor="x", name="new", pattern="abc")

    assert [rule.name for rule in policy_as_of(before + 1).policy.waf.rules if not rule.builtin] == ["new"]
    assert not [rule for rule in policy_as_of(before).policy.waf.rules if not rule.builtin]
    assert wanted == []


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(1, 4))])
def test_at_every_revision_of_a_random_history_it_decides_as_it_did(seed):
    change = Change(seed)
    services.register_domain(actor="x", name="a.example", access="authenticated", seed=True)
    kept = {revisions.current().revision: decisions(the_policy())}
    for _ in range(40):
        change()
        kept[revisions.current().revision] = decisions(the_policy())
    numbers = list(kept)
    random.Random(seed).shuffle(numbers)  # noqa: S311 - a repeatable test
    head = revisions.current()

    for number in numbers:
        found = policy_as_of(number)
        assert found.policy.version.revision == number
        assert not found.unknown
        assert decisions(found.policy) == kept[number], number
    assert revisions.current() == head
    assert decisions(the_policy()) == kept[head.revision]
