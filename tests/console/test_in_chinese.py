"""Every operator page in Simplified Chinese, if the browser prefers it: no English text of ours is left."""

import html
import re
from datetime import timedelta

import polib
import pytest
from django.utils import timezone

from audit.storage import ingest
from gatewall.console.log import saved_views
from gatewall.console.site import doctor_page
from gatewall.doctor import examination
from gatewall.doctor.probing.evidence import Reply
from gatewall.models import PendingConfirmation, PolicyRevision
from gatewall.policy import revisions
from gatewall.whatif.backtest import running, runs
from gatewall.whatif.backtest.models import Backtest
from policies import services
from policies.history import confirmation
from tests.admin.conftest import ADMIN
from tests.api.plans import CLOSED, expect
from tests.console.test_doctor_page import send
from tests.messages import CATALOGS
from tests.support.records import a_record
from tests.support.spool_shipping import spooled
from tests.unit.examined import evidence

pytestmark = pytest.mark.django_db

CHINESE = "zh-CN,zh;q=0.9,en;q=0.5"
TEXTS = {entry.msgid for entry in polib.pofile(str(CATALOGS["console"]))} - {"Webhook", "User-Agent"}
CODES = re.compile(r"<(code|pre|bdi|del|ins|script|style|textarea|option)\b.*?</\1>", re.DOTALL)
"""Elements that contain codes and names, but no words to translate."""
SAID = re.compile(r'(?:aria-label|data-label|placeholder|title)="([^"]*)"|<input type="submit" value="([^"]*)"')
COORDINATE = re.compile(
    r'<(?:svg|rect|line|text|circle|progress)\b[^>]*?\b(?:x|y|x1|x2|y1|y2|width|height|max)="([^"]*)"'
)


@pytest.fixture
def chinese(pages):
    """Return the pages of an admin whose browser prefers Chinese."""
    pages.client.defaults["HTTP_ACCEPT_LANGUAGE"] = CHINESE
    return pages


@pytest.fixture
def rows(alice, bob, office, tmp_path, visits):
    """Create rows for every page; return the id of a decision."""
    now, subject = timezone.now().timestamp(), {"kind": "user", "id": bob.pk, "name": "Bob"}
    let_in = {"status": 200, "outcome": "allow", "reason": "session-valid", "rules": [], "decided_by": None}
    written = [a_record(1, at=now - 60, subject=subject, policy_revision=0, **let_in)]
    written += [a_record(number, at=now - 40) for number in range(2, 30)]
    spooled(tmp_path / "spool", written)
    ingest.ship(tmp_path / "spool")
    services.block_network(actor="alice", network="203.0.113.9", remark="", expires_at=None, caller=None)
    rule = services.create_waf_rule(actor="alice", name="probe", pattern="attack", targets=["path"])
    services.change_waf_rule(rule, actor="alice", score=3)
    last = revisions.current().revision
    pending = {"actor": "alice", "address": "203.0.113.9", "deadline": timezone.now() + timedelta(minutes=5)}
    PendingConfirmation.objects.create(revision=last, previous=last - 1, problem="there is no such revision", **pending)
    saved_views.save_view(alice, name="mine", query="outcome=deny", shared=True)
    return visits(uri="/attack")


def words_of(page):
    """Return every text and label of a page, as a list."""
    plain = CODES.sub("", page[page.index("<body") :])
    labels = [label for found in SAID.findall(plain) for label in found]
    return [html.unescape(each).strip() for each in [*re.split(r"<[^>]+>", plain), *labels] if each.strip()]


def english_in(response):
    return sorted(TEXTS.intersection(words_of(response.content.decode())))


def asked_backtest(pages):
    answer = pages.submit("/backtest/?kind=ip-black-list", kind="ip-black-list", change="create", ip="198.51.100.7")
    return answer.url.removeprefix(ADMIN)


def planned_and_applied(pages):
    """Make a plan that is applied, confirmed and watched, and a stale one that fails an expectation."""
    planned = [
        pages.submit("/plan/", document=each).url.removeprefix(ADMIN)
        for each in (CLOSED, CLOSED + expect(("zoe", {"as": {"user": "Zoe"}}, "deny", "")))
    ]
    assert running.run(runs.claim_next(timezone.now()))
    pages.submit(planned[0], do="apply", undo_people="3", undo_minutes="10")
    return planned


def test_no_page_has_an_untranslated_text(chinese, rows, monkeypatch):
    found = evidence(kind="nginx", forged_for="203.0.113.11")
    monkeypatch.setattr(doctor_page, "examine", lambda *_, **__: found)
    waiting = asked_backtest(chinese)
    paths = [waiting]
    before = {path: chinese.get(path) for path in paths}
    assert running.run(runs.claim_next(timezone.now()))
    made_up = {
        "client_ip": "203.0.113.9",
        "host": "office.example",
        "method": "GET",
        "uri": "/",
        "kind": "",
        "name": "",
    }
    answers = {
        **{f"{path} (queued)": answer for path, answer in before.items()},
        "/explain/ (made up)": chinese.submit("/explain/", **made_up),
        "/explain/ (wrong)": chinese.submit("/explain/", **(made_up | {"headers": "no good: \x01"})),
        "/doctor/ (found)": send(chinese, url="http://office.example/", proxy="nginx"),
        "/import/ (preview)": chinese.submit("/import/", name="drop", text="192.0.2.0/24\nnonsense\n127.0.0.1\n"),
    }
    paths += ["/", "/dashboard/?window=7d", "/search/?q=office", "/search/?q=nothing"]
    paths += ["/log/", "/log/?outcome=deny&country_code=xyz", "/explain/"]
    paths += ["/log/?outcome=deny&exclude_host=a&exclude_subject=", "/log/ban/?network=192.0.2.1", "/log/views/"]
    paths += [f"/explain/{rows}/", f"/explain/{rows}/?again=1", "/explain/?decision_id=x", "/import/", "/doctor/"]
    paths += [
        "/log/allow/?network=192.0.2.1&host=office.example",
        "/backtest/",
        "/backtest/?kind=users",
        "/blast-radius/",
    ]
    paths += ["/blast-radius/?network=10.0.0.0/0x", "/blast-radius/?country=de", "/history/", "/history/?page=x"]
    paths += [f"/history/{each['number']}/" for each in PolicyRevision.objects.values("number")]
    paths += [
        "/app-profiles/",
        "/app-profiles/?domain=office.example",
        "/plan/?document=current",
        *planned_and_applied(chinese),
    ]
    answers["/plan/ (wrong)"] = chinese.submit("/plan/", document="version: 1\nnonsense: 1\n")
    answers |= {path: chinese.get(path) for path in paths}

    left = {path: found for path, answer in answers.items() if (found := english_in(answer))}

    assert left == {}
    for path, answer in answers.items():
        page = answer.content.decode()
        assert answer.status_code in {200, 400, 404}, path
        assert '<html lang="zh-hans"' in page, path
        assert re.search(r"<h1>[^<]*[\u4e00-\u9fff]", page), path
        assert all(re.fullmatch(r"-?[\d.]+%?", number) for number in COORDINATE.findall(page)), path


def test_refusals_of_services_are_in_chinese(chinese, office):
    banned = chinese.submit("/log/ban/", network="203.0.113.7/24", lasts="1h").content.decode()
    refused = send(chinese, url="http://elsewhere.example/").content.decode()
    filtered = chinese.get("/log/?status=perhaps&outcome=perhaps").content.decode()

    assert "的主机位不为零" in banned
    assert "elsewhere.example 不是已注册的域名" in refused
    assert "的整数" in filtered
    assert "须为以下之一" in filtered


def died(_path):
    """Fail the backtest like a process that was killed."""
    runs.fail(runs.claim_next(timezone.now()).claim, runs.died(-9))


def refused_by_now(_path):
    """Make the change of the draft before the backtest runs."""
    services.block_network(actor="", network="198.51.100.7")
    assert not running.run(runs.claim_next(timezone.now()))


@pytest.mark.parametrize(
    ("fail", "english", "said"),
    [
        (died, "its process ended early (exit code -9)", "退出码 -9"),
        (refused_by_now, "the change would be refused now: 198.51.100.7 already exists", "198.51.100.7 已存在"),
    ],
)
def test_the_failure_of_a_backtest_is_in_chinese(chinese, fail, english, said):
    path = asked_backtest(chinese)
    fail(path)

    words = words_of(chinese.get(path).content.decode())

    assert any(said in each for each in words)
    assert not any(part in each for each in words for part in ("refused", "already", "died", "exit"))
    assert Backtest.objects.get().failure == english


def test_the_reason_of_a_failed_revert_is_in_chinese(chinese, rows):
    row = confirmation.pending().get()
    PolicyRevision.objects.filter(pk=row.revision).delete()
    PolicyRevision.objects.create(number=row.revision)  # its changes are not recorded

    assert confirmation.revert_overdue(row.deadline) == 0

    page = chinese.get("/").content.decode()
    assert f"修订版本 {row.revision} 产生时尚未记录变更" in page
    row.refresh_from_db()
    assert row.problem == f"revision {row.revision} was made before changes were recorded"
    assert row.problem not in page


def test_the_api_answers_in_english(admin, office, monkeypatch):
    monkeypatch.setattr(examination.sending, "send", lambda *_: Reply(failure="no answer in time"))
    header = {"HTTP_ACCEPT_LANGUAGE": CHINESE}

    examined = admin.post("/system/doctor", {"url": "http://office.example/"}, **header)
    refused = admin.post("/system/doctor", {"url": "http://a.example/"}, **header)

    assert examined.json()["checks"][0]["title"] == "The gate is asked"
    assert examined.json()["checks"][0]["findings"][0]["words"] == "There was no answer: no answer in time."
    assert refused.json()["detail"] == "a.example is not a registered domain; register it first"


def test_the_admin_site_is_in_the_same_language(chinese):
    page = chinese.get("/").content.decode()

    assert '<html lang="zh-hans"' in page
    assert "实时日志" in page
    assert "许可证" in page
    assert "实时日志" not in chinese.client.get(f"{ADMIN}/", headers={"accept-language": "de"}).content.decode()
