"""The pages of backtests, as an admin sees them."""

import html
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from gatewall.console.backtest.forms import FORMS
from gatewall.models import Node
from gatewall.whatif.backtest import running, runs
from gatewall.whatif.backtest.models import Backtest, State
from policies import services
from policies.groups.services import create_group
from policies.models import BlocklistEntry, WafRule
from tests.admin.conftest import ADMIN, Pages
from tests.support.cast import CLIENT, OFFICE
from tests.support.proxies import enter_admin_site

pytestmark = pytest.mark.django_db

LIST, RADIUS = "/backtest/", "/blast-radius/"


def ask(pages, kind="ip-black-list", **values):
    return pages.submit(f"{LIST}?kind={kind}", kind=kind, **({"change": "create"} | values))


def finish():
    assert running.run(runs.claim_next(timezone.now()))
    return Backtest.objects.latest("id")


@pytest.mark.parametrize("kind", FORMS)
def test_every_kind_of_draft_has_a_form(pages, kind):
    page = pages.get(f"{LIST}?kind={kind}")

    assert page.status_code == 200
    assert f'name="kind" value="{kind}"' in page.content.decode()


def test_a_form_can_be_prefilled(pages):
    assert f'value="{CLIENT}"' in pages.get(f"{LIST}?kind=ip-black-list&ip={CLIENT}").content.decode()


def test_a_queued_backtest_refreshes_its_page(pages, record):
    answer = ask(pages, ip=CLIENT)
    run = Backtest.objects.get()
    page = pages.client.get(answer.url)

    assert answer.url == f"{ADMIN}{LIST}{run.pk}/"
    assert (run.created_by, run.state) == ("alice", State.QUEUED)
    assert run.end_time - run.start_time == timedelta(hours=24)
    assert page["Refresh"] == "2"
    assert "No agent is running" in page.content.decode()
    assert "Blast radius:" not in page.content.decode()  # not computed again at each refresh
    assert "Refresh" not in pages.client.get(f"{answer.url}?refresh=off")
    Node.objects.create(name="here", seen_at=timezone.now(), revision=0)
    assert "No agent is running" not in pages.words(pages.client.get(answer.url))


def test_a_result_names_people_first_and_links_to_decisions(pages, record):
    answer = ask(pages, ip=CLIENT)
    run = finish()
    page = pages.client.get(answer.url)
    words = page.content.decode()

    assert "Refresh" not in page
    assert "Bob loses office.example/" in words
    assert words.index("Bob loses office.example/") < words.index("People who would lose access")
    assert words.index("People who would lose access") < words.index("Changed answers") < words.rindex(OFFICE)
    assert "let through <code>session-valid</code>" in words
    assert f"/access-logs/{run.result['people']['results'][0]['examples'][0]}" in words or "/explain/" in words
    assert "Blast radius:" in words
    assert "Save in monitor mode" not in words
    del run.result["access"]  # as in a result of an earlier release
    run.save()
    assert "Bob loses" not in pages.words(answer)


def test_the_first_button_saves_a_rule_in_monitor_mode(pages, record):
    answer = ask(pages, "waf-rules", name="evil", pattern="evil", targets=["path"])
    run = finish()
    assert run.result["changed"] == 1
    words = pages.words(answer)
    assert words.index("Save in monitor mode") < words.index("Enforce")

    saved = pages.submit(f"{LIST}{run.pk}/", do="monitor")

    assert saved.status_code == 302
    assert WafRule.objects.get(name="evil").action == "monitor"
    assert "This draft was saved to the policy" in pages.words(saved)


def test_a_monitoring_rule_is_backtested_as_if_it_blocked(pages, record):
    rule = services.create_waf_rule(actor="", name="evil", pattern="evil", targets=["path"], action="monitor")
    ask(pages, "waf-rules", change="update", id=str(rule.pk))
    run = finish()

    assert run.result["changed"] == 1
    pages.submit(f"{LIST}{run.pk}/", do="enforce")
    assert WafRule.objects.get(pk=rule.pk).action == "block"


def test_empty_fields_stay_unchanged(pages, record):
    entry = services.allow_network(actor="", network=CLIENT, inspect=True)
    ask(pages, "ip-white-list", change="update", id=str(entry.pk), ip="203.0.113.9")
    ask(pages, "ip-white-list", change="update", id=str(entry.pk), inspect="off")

    assert [run.draft["values"] for run in Backtest.objects.order_by("id")] == [
        {"ip": "203.0.113.9"},
        {"inspect": False},
    ]


def test_a_change_that_would_lock_out_the_caller_needs_the_force_box(pages, record):
    address = {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "203.0.113.9", "HTTP_X_FORWARDED_HOST": "x"}
    ask(pages, ip="203.0.113.9")
    run = finish()
    path = f"{ADMIN}{LIST}{run.pk}/"
    token = (
        pages.get(f"{LIST}{run.pk}/").content.decode().partition('csrfmiddlewaretoken" value="')[2].partition('"')[0]
    )

    assert 'name="force"' not in pages.get(f"{LIST}{run.pk}/").content.decode()
    refused = pages.client.post(path, {"csrfmiddlewaretoken": token, "do": "enforce"}, **address)
    assert refused.status_code == 409
    assert "would be refused. Put your address on the allowlist first" in refused.content.decode()
    assert "reverted automatically unless somebody confirms it" in refused.content.decode()
    assert 'name="force"' in refused.content.decode()
    assert not BlocklistEntry.objects.exists()

    pages.client.post(path, {"csrfmiddlewaretoken": token, "do": "enforce", "force": "on"}, **address)
    assert BlocklistEntry.objects.get().remark.startswith(f"backtest {run.pk}:")


def test_force_is_offered_only_for_refusals_that_it_overrides(pages):
    assert 'name="force"' not in pages.get(f"{LIST}?kind=ip-black-list").content.decode()
    assert 'name="force"' not in ask(pages, ip="10.0.0.1/8").content.decode()
    refused = ask(pages, ip="0.0.0.0/0").content.decode()
    assert 'name="force"' in refused
    assert " addresses. Choose a smaller network." in refused
    assert ask(pages, ip="0.0.0.0/0", force="on").status_code == 302


@pytest.mark.parametrize(
    ("kind", "values", "status", "words"),
    [
        ("ip-black-list", {"ip": "10.0.0.1/8"}, 400, "host bits"),
        ("ip-black-list", {"ip": ""}, 400, "required"),
        ("ip-black-list", {"ip": "0.0.0.0/0"}, 409, "addresses"),
        ("ip-black-list", {"change": "delete", "id": "999"}, 400, "no such row"),
        ("ip-black-list", {"change": "update", "ip": CLIENT}, 400, "the id of the row is required"),
        ("ip-black-list", {"change": "create", "id": "7", "ip": CLIENT}, 400, "a new row has no id yet"),
        ("ip-black-list", {"ip": CLIENT, "window": "5"}, 400, "valid choice"),
        ("waf-rules", {"name": "a", "pattern": "(", "targets": ["uri"]}, 400, "pattern"),
        ("waf-rules", {"name": "a", "pattern": ".", "targets": ["uri"]}, 409, "force"),
        ("geo-block-rules", {"country_code": ""}, 400, "required"),
        ("authorized-domains", {"name": "a b"}, 400, "not a host name"),
        ("users", {"change": "update", "id": "999"}, 400, "no such row"),
        ("users", {"change": "update", "id": "1", "authorized_domains": "no.example"}, 400, "not a registered domain"),
        ("users", {"change": "update", "id": "1", "groups": "family"}, 400, "there is no group family"),
        ("groups", {"name": "admins"}, 400, "this name is reserved: Remote-Groups uses it for admins"),
    ],
)
def test_a_draft_is_refused_in_the_words_of_its_resource(pages, kind, values, status, words):
    refused = ask(pages, kind, **values)

    assert refused.status_code == status
    assert words in refused.content.decode()
    assert not Backtest.objects.exists()


def test_each_wrong_domain_of_a_scope_is_named(pages, office):
    names = "no.example, office.example, gone.example"
    page = html.unescape(ask(pages, "users", change="update", id="1", authorized_domains=names).content.decode())

    assert "<li>no.example is not a registered domain</li><li>gone.example is not a registered domain</li>" in page
    assert "ErrorDetail" not in page


def test_the_scope_of_a_group_and_the_groups_of_a_user_are_tried(pages, record, bob, office):
    group = create_group(actor="", name="family", authorized_domains=[office])
    for kind, values, expected in (
        ("groups", {"name": "guests", "all_domains": "on"}, {"name": "guests", "all_domains": True}),
        (
            "groups",
            {"change": "update", "id": group.pk, "authorized_domains": "-"},
            {"authorized_domains": []},
        ),
        (
            "users",
            {"change": "update", "id": bob.pk, "groups": "family,"},
            {"all_domains": False, "authorized_domains": [], "groups": ["family"]},
        ),
        (
            "users",
            {"change": "update", "id": bob.pk, "groups": " "},
            {"all_domains": False, "authorized_domains": []},
        ),
    ):
        assert ask(pages, kind, **values).status_code == 302
        assert Backtest.objects.latest("pk").draft["values"] == expected


def test_an_access_rule_is_tried_with_its_paths(pages, record, office):
    assert (
        ask(
            pages, "access-rules", name="x", access="denied", paths="/page\nexact /login", domains="nowhere"
        ).status_code
        == 400
    )
    paths = "/page\nexact /login\n\nglob /*/raw"
    ask(pages, "access-rules", name="x", access="denied", paths=paths, domains="office.example", methods="GET, POST")
    run = finish()

    assert run.draft["values"] == {
        "name": "x",
        "access": "denied",
        "domains": ["office.example"],
        "methods": ["GET", "POST"],
        "paths": [
            {"match": "prefix", "value": "/page"},
            {"match": "exact", "value": "/login"},
            {"match": "glob", "value": "/*/raw"},
        ],
    }


def test_untrusted_text_is_escaped(pages, record):
    answer = ask(pages, "waf-rules", name="<script>x</script>", pattern="evil")
    finish()

    assert "<script>x" not in pages.words(answer)


def test_a_backtest_is_cancelled(pages, record):
    ask(pages, ip=CLIENT)
    run = Backtest.objects.get()

    gone = pages.submit(f"{LIST}{run.pk}/", do="delete")

    assert gone.url == f"{ADMIN}{LIST}"
    assert not Backtest.objects.exists()
    assert pages.get(f"{LIST}{run.pk}/").status_code == 404


def test_unknown_actions_kinds_and_ids_are_not_found(pages, record):
    ask(pages, ip=CLIENT)
    run = Backtest.objects.get()

    assert pages.submit(f"{LIST}{run.pk}/", do="explode").status_code == 404
    assert pages.get(f"{LIST}?kind=nothing").status_code == 404
    assert pages.get(f"{LIST}{2**70}/").status_code == 404


@pytest.mark.parametrize("path", [LIST, f"{LIST}1/", RADIUS])
def test_only_admins_see_backtests(bob, path):
    strangers = Pages()
    assert strangers.get(path).status_code == 302
    enter_admin_site(strangers.client, bob)
    assert strangers.get(path).status_code == 302


def test_a_write_without_its_token_is_refused(alice):
    client = Client(enforce_csrf_checks=True)
    enter_admin_site(client, alice)

    assert client.post(f"{ADMIN}{LIST}", {"kind": "ip-black-list", "ip": CLIENT}).status_code == 403
