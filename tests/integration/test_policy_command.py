"""``gatewall policy`` with the database of this host; over the API, the output is the same."""

import io
import json
import re
from types import SimpleNamespace

import pytest
from django.core.management import load_command_class

from gatewall.management.policy import words
from gatewall.management.policy.outcome import Exit
from gatewall.models import PendingConfirmation, RefusalWatch
from gatewall.policy import revisions
from gatewall.whatif.backtest.models import Backtest
from policies import services
from policies.document.export import export
from policies.document.schema import schema
from policies.models import AuthorizedDomain
from tests.api.bad_documents import BAD

OTHER = "version: 1\ndomains:\n- name: a.example\n  access: two_factor\n- name: b.example\n"
WORDS = """\
domains:
  - c.example
  ~ a.example
      access: authenticated -> two_factor
  + b.example
"""


@pytest.fixture
def policy(capsys, monkeypatch):
    """Return a function that runs the command as ``manage.py`` does: exit code, output, lines of errors."""
    monkeypatch.setattr("django.core.management.base.connections", SimpleNamespace(close_all=lambda: None))

    def run(*arguments, stdin=b""):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            load_command_class("gatewall", "policy").run_from_argv(["gatewall", "policy", *arguments])
        except SystemExit as end:
            code = end.code
        found = capsys.readouterr()
        return code, found.out, found.err

    return run


@pytest.fixture
def two_domains(db):
    services.register_domain(actor="x", name="a.example", access="authenticated")
    services.register_domain(actor="x", name="c.example", access="authenticated")


def test_the_document_is_printed_as_it_is(policy, two_domains):
    assert policy("export") == (0, export().canonical().decode(), "")


def test_an_earlier_revision_is_printed(policy, two_domains):
    number, then = revisions.current().revision, export().canonical().decode()
    services.change_domain(AuthorizedDomain.objects.get(name="a.example"), actor="x", access="denied")

    assert policy("export", "--revision", str(number)) == (0, then, "")
    assert policy("export", "--revision", "4711")[0] == Exit.REFUSED


def test_the_schema_is_printed(policy, db):
    code, out, _ = policy("schema")

    assert (code, json.loads(out)) == (0, schema())


def test_drift_is_printed_and_nothing_is_changed(policy, two_domains, tmp_path):
    before = export()
    file = tmp_path / "policy.yaml"
    file.write_text(OTHER)

    code, out, err = policy("drift", str(file))

    assert (code, err) == (Exit.CHANGES, "")
    assert out == f"{WORDS}Applying the document would make 3 changes to revision {revisions.current().revision}.\n"
    assert export() == before


def test_drift_of_standard_input_as_json(policy, two_domains):
    code, out, _ = policy("drift", "-", "--json", stdin=OTHER.encode())

    assert code == Exit.CHANGES
    assert {(each["action"], each["key"]) for each in json.loads(out)["changes"]} == {
        ("deleted", "c.example"),
        ("created", "b.example"),
        ("changed", "a.example"),
    }


def test_repeated_drift_checks_detect_a_manual_edit_and_its_end(policy, two_domains):
    document, codes = export().canonical(), []
    domain = AuthorizedDomain.objects.get(name="a.example")
    for access in ("authenticated", "denied", "public", "authenticated", "two_factor", "authenticated"):
        services.change_domain(AuthorizedDomain.objects.get(pk=domain.pk), actor="alice", access=access)
        codes.append(policy("drift", "-", stdin=document)[0])

    assert codes == [0, 3, 3, 0, 3, 0]


def test_every_fault_is_a_line_with_its_place(policy, db, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text('version: 1\ndomains:\n- name: a.example\n  access: open\n- "n\\e[31m": b.example\n')

    code, out, err = policy("drift", str(file))

    assert (code, out) == (Exit.REFUSED, "")
    assert [line.partition(": ")[0] for line in err.splitlines()] == [f"{file}:4:11", f"{file}:5:3", f"{file}:5:3"]
    assert err.replace("\n", "").isprintable()


@pytest.mark.parametrize("action", ["drift", "plan", "apply"])
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xff", "is not UTF-8"),
        (b"x" * (8 * 1024 * 1024 + 1), "more than 8 MiB"),
        (b"#" * (50 << 20), "-:1:1: /: the document has more than 8 MiB"),
        (
            b"version: 1\nblocklist:\n" + b"- ip: 192.0.2.1\n" * 1_000_000,
            "-:2:1: /blocklist: the document has more than 8 MiB; long lists of networks belong to a list subscription",
        ),
    ],
    ids=["bytes", "over 8 MiB", "50 MiB", "a million networks"],
)
def test_an_invalid_document_is_refused(policy, db, action, data, words):
    code, out, err = policy(action, "-", stdin=data)

    assert (code, out, err.count("\n")) == (Exit.REFUSED, "", 1)
    assert words in err


@pytest.mark.parametrize("action", ["drift", "plan", "apply"])
def test_every_bad_document_is_refused_where_it_is_wrong_and_nothing_changes(policy, two_domains, action):
    before = export(), revisions.current()

    ends = {name: policy(action, "-", stdin=document.encode()) for name, (document, _words) in BAD.items()}

    for name, (code, out, err) in ends.items():
        assert (name, code, out) == (name, Exit.REFUSED, "")
        assert re.match(r"-:[0-9]+:[0-9]+: ", err), err
        assert BAD[name][1] in err
    assert (export(), revisions.current()) == before
    assert not Backtest.objects.exists()


def test_an_expectation_that_cannot_be_decided_is_refused(policy, two_domains):
    document = (OTHER + (EXPECT % "allow").replace("client:", "as: {user: Nobody}, client:")).encode()

    code, out, _err = policy("plan", "-", "--no-replay", stdin=document)
    assert code == Exit.REFUSED
    assert "got undecidable: there is no user Nobody" in out
    code, out, err = policy("apply", "-", "--force", stdin=document)
    assert (code, out) == (Exit.REFUSED, "")
    assert "expectation-failed: failed expectations (1): strangers sign in" in err
    assert AuthorizedDomain.objects.filter(name="c.example").exists()


EXPECT = """
expect:
- name: strangers sign in
  request: {client: 203.0.113.1, host: a.example}
  effect: %s
"""


def test_a_plan_prints_the_changes_and_changes_nothing(policy, two_domains):
    before = export()

    code, out, err = policy("plan", "-", stdin=(OTHER + EXPECT % "challenge").encode())

    assert (code, err) == (Exit.CHANGES, "")
    lines = out.splitlines()
    assert lines[0].startswith("Plan ")
    assert {"authorized-domains:", "  - c.example", "  + b.example"} <= set(lines)
    assert "      access: authenticated -> two_factor" in lines
    assert not [line for line in lines if "created_" in line or "_ids" in line]
    assert "Expectations: 1 of 1 hold" in lines
    assert lines[-1].startswith("Replay of 0 requests of the last 24 hours: 0 would get another answer")
    assert export() == before


def test_a_plan_whose_expectation_fails_is_refused(policy, two_domains):
    code, out, _ = policy("plan", "-", "--no-replay", stdin=(OTHER + EXPECT % "allow").encode())

    assert code == Exit.REFUSED
    assert "  ! strangers sign in: wanted allow, got challenge (" in out
    assert "Replay" not in out


def test_a_plan_of_the_policy_in_force_has_no_changes(policy, two_domains):
    code, out, _ = policy("plan", "-", "--no-replay", stdin=export().canonical())

    assert (code, out.splitlines()[1:]) == (0, ["No changes."])


def test_a_plan_that_would_be_refused_is_refused(policy, two_domains):
    assert policy("plan", "-", stdin=b"version: 1\ndomains: 7\n") == (
        Exit.REFUSED,
        "",
        "-:2:10: /domains: a list of objects is needed\n",
    )
    code, _, err = policy("plan", "-", "--window-hours", "99999999", stdin=OTHER.encode())
    assert (code, err.count("\n")) == (Exit.REFUSED, 1)


def test_a_document_is_applied_once(policy, two_domains):
    number = revisions.current().revision

    code, out, _ = policy("apply", "-", stdin=OTHER.encode())

    assert (code, out.splitlines()[-1]) == (0, f"Applied as revision {number + 1}.")
    assert policy("drift", "-", stdin=OTHER.encode())[0] == 0
    assert policy("apply", "-", stdin=OTHER.encode())[:2] == (
        0,
        "Nothing to do: the policy is what the document says.\n",
    )
    assert revisions.current().revision == number + 1


@pytest.mark.parametrize("document", [OTHER + EXPECT % "allow", OTHER + "groups: 7\n"])
def test_a_refused_document_changes_nothing(policy, two_domains, document):
    before, number = export(), revisions.current().revision

    assert policy("apply", "-", stdin=document.encode())[0] == Exit.REFUSED
    assert (export(), revisions.current().revision) == (before, number)


def test_a_document_for_an_older_policy_is_refused_but_for_bans(policy, two_domains):
    number = str(revisions.current().revision)
    services.block_network(actor="auto-ban", network="203.0.113.77", source="auto-ban")

    assert policy("apply", "-", "--if-revision", number, stdin=OTHER.encode())[0] == 0
    code, _, err = policy("apply", "-", "--if-revision", number, stdin=b"version: 1\ndomains: []\n")
    assert (code, err.count("\n")) == (Exit.REFUSED, 1)
    assert AuthorizedDomain.objects.count() == 2


def test_conditions_of_a_document_are_kept_with_its_revision(policy, two_domains):
    policy("apply", "-", "--confirm-within", "60", "--undo-if-refused", "3/10", stdin=OTHER.encode())

    number = revisions.current().revision
    assert PendingConfirmation.objects.get().revision == number
    watch = RefusalWatch.objects.get()
    assert (watch.revision, watch.people) == (number, 3)


@pytest.mark.parametrize("option", [("--confirm-within", "4"), *(("--undo-if-refused", text) for text in ("3", "3/0"))])
def test_an_invalid_condition_ends_with_2(policy, db, option):
    assert policy("apply", "-", *option, stdin=OTHER.encode())[0] == Exit.CANNOT_RUN


def test_a_plan_warns_of_settings_that_the_document_leaves_out(policy, two_domains):
    one = b"version: 1\nsettings:\n  waf_threshold: 12\n"

    code, out, _ = policy("plan", "-", "--no-replay", stdin=one)

    assert code == Exit.CHANGES
    warning, _, reset = out.splitlines()[-3:]
    assert warning.startswith("Warning: ")
    assert reset == "  ! authorized_domains_mode: registered -> any"
    assert "Warning" not in policy("plan", "-", "--no-replay", stdin=export().canonical())[1]


def test_people_losing_access_are_listed_without_control_characters():
    replay = {"rows": 2_000, "changed": 312, "undecidable": {"total": 1}, "unlisted": {"people": 1, "anonymous": 0}}
    replay["scope_missing"] = None
    loss = {"host": "reports.example", "path": "/q3/**", "loses": True, "count": 312}
    subject = {"kind": "user", "id": 1, "name": "ali\x1b[31mce"}
    people, anonymous = [{**loss, "subject": subject}], [{**loss, "client_ip": "192.0.2.1", "loses": False}]
    plan = {"id": 7, "revision": 3, "digest": "d", "changes": [], "expectations": [], "would_lock_you_out": True}

    lines = [*words.of_plan({**plan, "replay": {**replay, "people": people, "anonymous": anonymous}}, 168)]

    assert lines[2] == "Applying this would lock you out."
    assert "312 would get another answer, 1 are undecidable" in lines[3]
    assert lines[4].endswith('mce" loses reports.example/q3/** (312 requests)')
    assert lines[5] == "  somebody at 192.0.2.1 gains reports.example/q3/** (312 requests)"
    assert "".join(lines).isprintable()
