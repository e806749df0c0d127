"""The pages of plans: the effect of a document, users first, before it is applied."""

import html
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from audit.storage import ingest
from gatewall.policy import revisions, system_settings
from gatewall.whatif.backtest.models import Backtest
from gatewall.whatif.shadow.services import set_shadow
from policies.document.export import export
from policies.models import AuthorizedDomain
from tests.admin.conftest import ADMIN, Fields, Pages
from tests.api.plans import CLOSED, expect
from tests.console.plans import PLANS, finish, plan, planned
from tests.support.cast import OFFICE
from tests.support.proxies import a_user, enter_admin_site
from tests.support.records import a_record
from tests.support.spool_shipping import spooled

pytestmark = pytest.mark.django_db

WIDE = "version: 1\nblocklist:\n- ip: 0.0.0.0/0\n"
BOB = {"outcome": "allow", "status": 200, "reason": "session-valid", "rules": [], "decided_by": None}
HIDDEN = {"host": OFFICE, "policy_revision": 1, "method": "GET", "query": ""}


@pytest.fixture
def record(tmp_path, bob, office):
    """Record that Bob was let in three times to two pages of the office, and an anonymous visitor was challenged."""
    bob.all_domains = True
    bob.save()
    now, subject = timezone.now().timestamp(), {"kind": "user", "id": bob.pk, "name": bob.username}
    let_in = {**BOB, **HIDDEN, "subject": subject}
    asked = {"status": 401, "outcome": "challenge", "reason": "credential-missing", "rules": [], "decided_by": None}
    rows = [
        a_record(1, at=now - 60, path="/q3", **let_in),
        a_record(2, at=now - 50, path="/q3", **let_in),
        a_record(3, at=now - 40, path="/q4", **let_in),
        a_record(4, at=now - 30, path="/<b>", subject=None, credential=None, **HIDDEN, **asked),
    ]
    spooled(tmp_path / "spool", rows)
    ingest.ship(tmp_path / "spool")


def test_a_plan_is_computed_in_the_background_and_shows_people_first(pages, record):
    before = revisions.current()
    path = planned(pages, CLOSED, window="1")
    row = Backtest.objects.get()
    waiting = pages.get(path)
    finish()
    page = pages.words(pages.get(path))

    assert (row.created_by, row.end_time - row.start_time) == ("alice", timedelta(hours=1))
    assert waiting["Refresh"] == "2"
    assert "Refresh" not in pages.get(f"{path}?refresh=off")
    assert 'name="do" value="apply"' not in waiting.content.decode()
    assert f"Bob loses {OFFICE}/q3: 2 requests" in page
    assert f"Bob loses {OFFICE}/q4: 1 request<" in page
    assert page.index("/q3: 2 requests") < page.index("/q4: 1 request") < page.index(f"At {OFFICE}, ")
    assert "/explain/" in page
    assert "It would not lock out the address that it was planned from." in page
    assert "<del>authenticated</del>" in page
    assert "<ins>denied</ins>" in page
    assert revisions.current() == before
    assert f'href="{ADMIN}{path}"' in pages.words(pages.get(PLANS))
    assert f"{path}" not in pages.words(pages.get("/backtest/"))
    assert pages.get(f"/backtest/{row.pk}/").status_code == 404


def test_undecidable_requests_are_counted_by_missing_attribute(pages, record):
    path = planned(pages, CLOSED)
    finish()
    row = Backtest.objects.get()
    row.result["undecidable"] = {"total": 7, "missing": {"headers": 2, "credential": 5}}
    row.save()

    page = pages.words(pages.get(path))

    assert page.index("the credential is not recorded (5)") < page.index("preflight are not recorded (2)")


def test_errors_of_a_document_have_line_and_column_and_its_text_is_kept(pages, office):
    wrong = "version: 1\nnonsense: 1\ndomains:\n- name: a b\n- name: <i>\n  access: perhaps\n"

    refused = plan(pages, wrong)
    page = html.unescape(refused.content.decode())

    assert refused.status_code == 400
    assert "line 2, column 1, <code>/nonsense</code>" in page
    assert "line 4, column 9, <code>/domains/0/name</code>" in page
    assert "line 6, column 11, <code>/domains/1/access</code>" in page
    assert Fields(refused.content.decode()).values["document"] == [wrong.replace("\n", "\r\n")]
    assert "<i>" not in refused.content.decode()
    assert not Backtest.objects.exists()


def test_a_document_may_be_a_file(pages, office):
    def upload(data, **more):
        token = Fields(pages.get(PLANS).content.decode()).values["csrfmiddlewaretoken"][0]
        file = SimpleUploadedFile("policy.yaml", data)
        values = {"csrfmiddlewaretoken": token, "window": "24", "document": "", "file": file, **more}
        return pages.client.post(f"{ADMIN}{PLANS}", values)

    assert upload(CLOSED.encode()).status_code == 302
    assert "line 1, column 1" in pages.words(upload(b"\xff"))
    assert "line 2, column 1" in pages.words(upload(b"version: 1\nmore: 1"))
    assert "Paste a document or choose a file, not both." in pages.words(upload(b"version: 1", document=CLOSED))
    assert "at most 1000 KiB" in pages.words(upload(b"#" * (1000 * 1024 + 1)))
    assert Backtest.objects.count() == 1


@pytest.mark.parametrize(
    ("values", "status", "words"),
    [
        ({"document": ""}, 400, "Paste a document, or choose a file."),
        ({"document": CLOSED, "window": "5"}, 400, "valid choice"),
        ({"document": WIDE}, 409, "addresses"),
        ({"document": WIDE, "force": "on"}, 302, ""),
    ],
)
def test_an_invalid_plan_is_refused(pages, office, values, status, words):
    answer = pages.submit(PLANS, **values)

    assert answer.status_code == status
    assert words in pages.words(answer)
    if status != 302:
        assert ('name="force"' in pages.words(answer)) == (status == 409)


def test_the_form_starts_from_the_policy_in_force_or_the_shadow_policy(pages, office):
    assert Fields(pages.get(f"{PLANS}?document=current").content.decode()).values["document"] == [
        export().canonical().decode().replace("\n", "\r\n")
    ]
    assert pages.get(f"{PLANS}?document=shadow").status_code == 404
    set_shadow(document=CLOSED, percent=50, actor="alice")
    assert "access: denied" in pages.words(pages.get(f"{PLANS}?document=shadow"))
    assert pages.get(f"{PLANS}?document=other").status_code == 404
    exported = pages.get(f"{PLANS}export/")
    assert (exported.content, exported["Content-Type"]) == (export().canonical(), "application/yaml")
    assert exported["Content-Disposition"] == 'attachment; filename="policy.yaml"'


def test_failed_expectations_come_first_with_the_actual_answer(pages, office, bob):
    wanted = CLOSED + expect(
        ("shut", {"as": {"user": bob.username}}, "deny", "host-not-authorized"),
        ("open", {"as": {"user": bob.username}}, "allow", ""),
        ("nobody", {"as": {"user": "Zoe"}}, "deny", ""),
    )
    path = planned(pages, wanted)
    finish()
    page = pages.words(pages.get(path))

    assert page.index(">open<") < page.index(">shut<")
    assert page.index("there is no user Zoe") < page.index(">shut<")
    assert "refused as long as an expectation fails" in page
    assert "2 expectations fail" in pages.words(pages.get(PLANS))
    refused = pages.submit(path, do="apply")
    assert refused.status_code == 409
    assert "failed expectations (2): nobody, open" in html.unescape(refused.content.decode())
    office.refresh_from_db()
    assert office.access == "authenticated"


def test_omitted_settings_are_listed_before_all_other_changes(pages, office):
    system_settings.change(actor="x", contact="<desk>", waf_mode="monitor")
    page = pages.words(pages.get(planned(pages, "version: 1\nsettings:\n  waf_threshold: 12\n")))

    assert page.index("The settings section of the document omits some settings") < page.index("What it changes")
    assert "<code>waf_mode</code>: <del>monitor</del> <ins>block</ins>" in page
    assert "<code>contact</code>: <del>&lt;desk&gt;</del> <ins></ins>" in page
    assert "omits some settings" not in pages.words(pages.get(planned(pages, CLOSED)))


def test_a_plan_is_deleted(pages, office):
    path = planned(pages, CLOSED)
    assert pages.submit(path, do="nonsense").status_code == 404
    assert pages.submit(path, do="delete").status_code == 302
    assert pages.get(path).status_code == 404
    assert pages.get(f"{PLANS}{2**70}/").status_code == 404


def test_an_auditor_plans_and_reads_but_does_not_apply(pages, office, db):
    client = Client(enforce_csrf_checks=True)
    enter_admin_site(client, a_user("eve", is_auditor=True))
    auditor = Pages(client)
    path = planned(auditor, CLOSED)
    finish()
    page = auditor.words(auditor.get(path))

    assert "What it changes" in page
    assert 'value="apply"' not in page
    assert 'value="delete"' not in page
    assert auditor.submit(path, do="apply", confirm_minutes="5").status_code == 403
    assert AuthorizedDomain.objects.get(name=OFFICE).access == "authenticated"
