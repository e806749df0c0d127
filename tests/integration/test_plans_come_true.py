"""Plans of ten changes predict people and counts: a small version of a recorded week.

Forty people send requests of the traffic generator. For each change, a plan is made from the record and applied, the
same requests are sent again, and the answers are compared one by one with those of the record. A document is a shadow
policy before: what that would have answered is also what then happens, and differs as often as the plan says.
"""

import json
import random
from collections import Counter
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.utils import timezone

from audit.models import AccessLog
from audit.spool.records import AccessRecord
from audit.spool.rows import record_of_row
from audit.storage import ingest
from bench import traffic
from gatewall.gate import routes
from gatewall.gate.headers import from_environ
from gatewall.gate.shadow_follower import ShadowFollower, reports_folder
from gatewall.gate.subrequest import Subrequest
from gatewall.policy import revisions, system_settings
from gatewall.publication import control_plane
from gatewall.replay.path_groups import path_group
from gatewall.snapshot.host_paths import policy_files, run_folder
from gatewall.whatif.backtest import running, runs, workers
from gatewall.whatif.shadow.documents import try_document
from policies import services
from policies.groups.services import create_group
from policies.models import AuthorizedDomain, Group
from tests.support.form import by_form
from tests.support.proxies import a_user
from tests.support.servers import tell

pytestmark = pytest.mark.django_db

PEOPLE = 40
DOMAINS = [f"app{number}.example.com" for number in range(6)]


def rule(**fields):
    return {"resource": "access-rules", "values": {"name": "rule", "access": "denied", **fields}}


def document(**sections):
    return {"document": {"version": 1, **sections}}


def changes(*drafts):
    return {"changes": list(drafts)}


def domains(**access):
    return [{"name": name, "access": access.get(name.partition(".")[0], "authenticated")} for name in DOMAINS]


WIKI = [{"match": "prefix", "value": "/wiki"}]
CHANGES = {
    "a closed host": document(domains=domains(app0="denied")),
    "a public host": document(domains=domains(app1="public")),
    "a stricter host": document(domains=domains(app0="two_factor")),
    "a path for one group": document(
        access_rules=[{"name": "wiki", "access": "denied", "paths": WIKI, "groups": ["staff"]}]
    ),
    "a public path": changes(rule(access="public", paths=WIKI)),
    "a blocked network": document(blocklist=[{"ip": "203.0.0.0/24"}, {"ip": "192.0.0.0/30"}]),
    "a trusted network": changes({"resource": "ip-white-list", "values": {"ip": "203.0.0.0/25"}}),
    "registered hosts only": {"resource": "system/settings", "values": {"authorized_domains_mode": "registered"}},
    "a WAF rule": changes(
        {"resource": "waf-rules", "values": {"name": "no wiki", "pattern": "/wiki/[0-9]*7", "score": 10}}
    ),
    "several at once": document(
        domains=domains(app0="denied", app2="public"),
        blocklist=[{"ip": "203.0.1.0/24"}],
        access_rules=[{"name": "shut", "access": "denied", "domains": [DOMAINS[1]], "users": ["person7", "person1"]}],
    ),
}


class KeptRecords:
    """Access log that keeps its records in memory, in the order of the answers."""

    def __init__(self):
        self.rows = []

    def write(self, record):
        self.rows.append(AccessRecord.from_bytes(record.to_bytes()))
        return True

    def close(self):
        pass


class Traffic:
    """The requests, and the gate that answers them."""

    def __init__(self, auth, tokens, number):
        self._gate, chance = auth.gate, random.Random(23)  # noqa: S311 - examples, no secrets
        self._requests = [self._request(tokens, chance) for _ in range(number)]

    @staticmethod
    def _request(tokens, chance):
        sent = {
            "x_forwarded_for": traffic.client(chance),
            "x_forwarded_host": f"app{traffic.zipf_number(8, chance)}.example.com",
            "x_forwarded_proto": "https",
            "x_forwarded_method": "GET",
            "x_forwarded_uri": chance.choice(traffic.ATTACKS) if chance.random() < 0.03 else traffic.page(chance),
        }
        token = {"service_authorization": chance.choice(tokens)} if chance.random() < 0.85 else {}
        environ = {f"HTTP_{name.upper()}": value for name, value in {**sent, **token}.items()}
        return Subrequest("127.0.0.1", "http", from_environ(environ))

    def record(self, monkeypatch):
        """Send every request; return the rows of the access log in that order."""
        self._answer(monkeypatch)
        self._gate.close()
        ingest.ship(settings.GATEWALL_HOME / "spool")
        return [record_of_row(row) for row in AccessLog.objects.order_by("at", "decision_id")]

    def send(self, monkeypatch):
        """Send every request again, without logging; return the records in that order."""
        kept = KeptRecords()
        with monkeypatch.context() as patch:
            patch.setattr(self._gate, "_records", kept)
            self._answer(monkeypatch)
        return kept.rows

    def send_beside_shadow(self, monkeypatch):
        """Send every request while a shadow policy is evaluated; return what it would have answered, in that order."""
        kept, shadow, verdicts = KeptRecords(), self._gate.shadow, {}

        def amend(decision_id, _at, verdict):
            verdicts[decision_id] = verdict

        def evaluate():
            shadow.work()
            shadow._saved = 0.1  # without a CPU budget: every request is evaluated

        with monkeypatch.context() as patch:
            patch.setattr(self._gate, "_records", kept)
            patch.setattr(shadow, "_amendments", SimpleNamespace(amend=amend))
            evaluate()
            self._answer(monkeypatch, evaluate)
        figures = shadow.figures
        assert (figures.evaluated, figures.faults, figures.skipped) == (len(self._requests), 0, 0)
        return [
            answer(row)
            if (verdict := verdicts.get(row.decision_id)) is None
            else {"outcome": verdict["effect"], "reason": verdict["reason"]}
            for row in kept.rows
        ]

    def _answer(self, monkeypatch, after_each=lambda: None):
        """Answer under the current policy, which is read once: reading its version costs more than an answer."""
        dialect, policies = routes.find("/wall", "/wall/auth").dialect, SimpleNamespace()
        policy = self._gate._policies.current()
        policies.current = lambda: policy
        with monkeypatch.context() as patch:
            patch.setattr(self._gate, "_policies", policies)
            for each in self._requests:
                self._gate.check(dialect, each)
                after_each()


@pytest.fixture
def shadowed(auth, admin):
    """Return a context in which a document is the shadow policy of the gate."""
    from tests.support.shadows import a_publisher  # noqa: PLC0415 - after the fixtures have set the settings

    publisher = a_publisher(try_document)
    built, reports = control_plane._sources[0][2].built, reports_folder(run_folder(settings.CONFIG.home))
    follower = ShadowFollower(policy_files(settings.CONFIG), built, auth.gate.shadow, reports)

    @contextmanager
    def context(text):
        assert admin.put("/policy/shadow", {"document": text, "percent": 100}).status_code in {200, 201}
        auth.gate._policies.current()  # loads the live policy
        publisher.turn()
        follower.turn()
        yield
        assert admin.delete("/policy/shadow").status_code == 204
        publisher.turn()
        follower.turn()
        assert auth.gate.shadow.policy is None

    return context


@pytest.fixture
def week(auth, wall, request):
    for name in DOMAINS:
        services.register_domain(actor="", name=name, access="authenticated")
    system_settings.change(actor="", authorized_domains_mode="any")
    create_group(actor="", name="staff")
    people = [a_user(f"person{number}") for number in range(PEOPLE)]
    for each in people[::3]:
        each.groups.add(Group.objects.get())
    return Traffic(auth, [wall.a_token(each) for each in people], request.param)


@pytest.mark.parametrize("week", [by_form(full=200_000, default=2_000)], indirect=True)
def test_ten_plans_predict_the_affected_people_and_counts(admin, week, shadowed, monkeypatch, pytestconfig):
    monkeypatch.setattr(workers, "number_of_processes", lambda _: 1)  # another one cannot see this transaction
    began = timezone.now()
    recorded = week.record(monkeypatch)
    window = {"start_time": began - timedelta(minutes=1), "end_time": timezone.now() + timedelta(microseconds=1)}
    window = {name: at.isoformat() for name, at in window.items()}
    base, touched, foreseen = revisions.current().revision, {}, None

    for name, proposal in CHANGES.items():
        plan = admin.post("/policy/plan", {**proposal, **window}).json()
        assert "digest" in plan, (name, plan)
        assert running.run(runs.claim_next(timezone.now())), name
        replay = admin.get(f"/policy/plan/{plan['id']}").json()["replay"]
        if is_document := "document" in proposal:
            with shadowed(proposal["document"]):
                foreseen = week.send_beside_shadow(monkeypatch)
        assert admin.post("/policy/apply", {"digest": plan["digest"]}).status_code == 200, name

        pairs = list(zip(recorded, week.send(monkeypatch), strict=True))
        assert (replay["rows"], replay["undecidable"]["total"]) == (len(recorded), 0), name
        assert replay["changed"] == sum(answer(old) != answer(new) for old, new in pairs), name
        assert not is_document or foreseen == [answer(new) for _, new in pairs], name
        for kind, happened in what_happened(pairs).items():
            assert is_top(said(replay[kind]), happened), (name, kind)
            assert len(replay[kind]) + replay["unlisted"][kind] == len(happened), (name, kind)
        touched[name] = replay["changed"]
        people = len(replay["people"]) + replay["unlisted"]["people"]
        tell(pytestconfig, f"{name}: {replay['changed']:,} of {len(pairs):,} answers, {people:,} rows of people")
        assert admin.post(f"/policy/revisions/{base}/restore", {}).status_code == 200, name

    assert all(touched.values()), touched
    assert {domain.access for domain in AuthorizedDomain.objects.all()} == {"authenticated"}


def answer(row):
    return {"outcome": row.outcome, "reason": row.reason}


def key_of(*parts):
    return json.dumps(parts, sort_keys=True)


def what_happened(pairs):
    """Count from the answers alone who lost or gained access, and where."""
    found = {"people": Counter(), "hosts": Counter(), "anonymous": Counter()}
    for old, new in pairs:
        loses = old.outcome == "allow"
        if loses == (new.outcome == "allow"):
            continue
        where = old.host, path_group(old.path), loses, answer(old), answer(new)
        found["hosts"][key_of(old.host, loses)] += 1
        if old.subject:
            found["people"][key_of(old.subject["kind"], old.subject["id"], *where)] += 1
        else:
            found["anonymous"][key_of(old.client_ip, *where)] += 1
    return found


def said(rows):
    """Return the counts of a replay by the same keys."""
    found = {}
    for row in rows:
        where = row["host"], row.get("path"), row["loses"], row.get("from"), row.get("to")
        if "subject" in row:
            key = key_of(row["subject"]["kind"], row["subject"]["id"], *where)
        elif "client_ip" in row:
            key = key_of(row["client_ip"], *where)
        else:
            key = key_of(row["host"], row["loses"])
        found[key] = row["count"]
    return found


def is_top(listed, happened):
    """Return whether every listed count is right, and no unlisted key has a higher count."""
    least = min(listed.values(), default=0)
    others = [count for key, count in happened.items() if key not in listed]
    return all(happened[key] == count for key, count in listed.items()) and all(each <= least for each in others)
