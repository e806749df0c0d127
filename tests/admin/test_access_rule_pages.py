"""Access rules through the real admin pages: the form, its pickers, and the order."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth import get_user_model

from policies.access_rules import services
from policies.models import AccessRule
from tests.admin.conftest import ADMIN, Fields
from tests.support.proxies import a_user

ADD = "/policies/accessrule/add/"
LIST = "/policies/accessrule/"


@pytest.fixture
def rules(db):
    return [services.create_access_rule(actor="x", name=name, access="two_factor") for name in "abc"]


def move(pages, rule, position):
    """Press a move button of the list."""
    token = Fields(pages.words(pages.get(LIST))).values["csrfmiddlewaretoken"][0]
    data = {"csrfmiddlewaretoken": token, "position": position, "action": ""}
    return pages.client.post(f"{ADMIN}{LIST}{rule.pk}/move/", data)


def order():
    return "".join(AccessRule.objects.values_list("name", flat=True))


def test_a_rule_is_made_with_the_pickers(pages, bob, office):
    response = pages.submit(
        ADD,
        name="api",
        access="authenticated",
        domains=[office.pk],
        paths_match=["prefix", "glob", "exact"],
        paths_value=["/api", "/files/*", ""],
        methods=["GET", "PROPFIND"],
        networks="192.0.2.0/24, 2001:db8::/32",
        countries=["DE", "NZ"],
        asns="64500 64501",
        weekdays=["sat", "sun"],
        from_time="22:00",
        until_time="06:00",
        time_zone="Europe/Berlin",
        users=[bob.pk],
        credential_kinds=["session"],
        expires_at_0="2090-01-02",
        expires_at_1="03:04:05",
    )

    assert response.status_code == 302, pages.words(response)
    rule = AccessRule.objects.get()
    assert rule.paths == [{"match": "prefix", "value": "/api"}, {"match": "glob", "value": "/files/*"}]
    assert (rule.methods, rule.networks) == (["GET", "PROPFIND"], ["192.0.2.0/24", "2001:db8::/32"])
    assert (rule.countries, rule.asns, rule.weekdays) == (["DE", "NZ"], [64500, 64501], ["sat", "sun"])
    assert (rule.from_time, rule.until_time, rule.time_zone) == ("22:00", "06:00", "Europe/Berlin")
    assert [*rule.domains.all(), *rule.users.all()] == [office, bob]
    assert rule.credential_kinds == ["session"]
    assert rule.expires_at == datetime(2090, 1, 2, 3, 4, 5, tzinfo=UTC)

    page = f"/policies/accessrule/{rule.pk}/change/"
    assert pages.submit(page, remark="kept").status_code == 302
    same = AccessRule.objects.get()
    assert (same.remark, same.paths, same.asns, [*same.users.all()]) == ("kept", rule.paths, rule.asns, [bob])
    assert pages.submit(page, from_time="", until_time="", paths_value=["", "", ""]).status_code == 302
    same = AccessRule.objects.get()
    assert (same.from_time, same.until_time, same.paths) == (None, None, [])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"paths_match": ["prefix"], "paths_value": ["/a//b"]}, "write &#x27;/a/b&#x27;"),
        ({"networks": "192.0.2.1/24"}, "192.0.2.1/24"),
        ({"asns": "AS64500"}, "whole numbers"),
        ({"access": "public", "credential_kinds": ["session"]}, "public access identifies nobody"),
        ({"from_time": "09:00", "until_time": "09:00"}, "are the same time"),
        ({"position": "7"}, "a position from 1 to 1"),
    ],
)
def test_the_form_shows_errors(pages, values, words):
    response = pages.submit(ADD, **{"name": "x", "access": "authenticated", **values})

    assert response.status_code == 200
    assert words in response.content.decode()
    assert not AccessRule.objects.exists()


def test_with_many_users_the_form_takes_names_instead_of_a_choice(pages, bob, monkeypatch):
    monkeypatch.setattr("policies.admin.access_rules._MOST_TO_CHOOSE", 1)

    assert "no user nobody" in pages.words(pages.submit(ADD, name="x", access="denied", users="bob, nobody"))
    assert pages.submit(ADD, name="x", access="denied", users="BOB").status_code == 302
    rule = AccessRule.objects.get()
    assert list(rule.users.all()) == [bob]
    a_user("zoe")
    assert pages.submit(f"/policies/accessrule/{rule.pk}/change/", users="bob zoe").status_code == 302
    assert get_user_model().objects.filter(access_rules=rule).count() == 2


def test_a_rule_is_moved_with_the_buttons_of_its_row(pages, rules):
    page = pages.words(pages.get(LIST))
    assert page.count('class="move"') == 6
    assert page.count(" disabled") == 2

    for rule, position, expected in ((rules[2], 2, "acb"), (rules[0], 3, "cba"), (rules[1], 1, "bca")):
        response = move(pages, rule, position)
        assert response.status_code == 302
        assert order() == expected


@pytest.mark.parametrize("position", ["", "-1", "x", "99999"])
def test_an_invalid_position_moves_nothing(pages, rules, position):
    assert move(pages, rules[0], position).status_code == 404
    assert pages.get(f"{LIST}{rules[0].pk}/move/").status_code == 404
    assert order() == "abc"


def test_a_position_beyond_the_last_is_refused_with_an_error(pages, rules):
    response = move(pages, rules[0], "4")

    assert "A position from 1 to 3" in pages.words(response)
    assert order() == "abc"


def test_a_warning_is_shown_after_saving(pages, rules):
    response = pages.submit(f"/policies/accessrule/{rules[2].pk}/change/", remark="same")

    assert "The rule can never match: the earlier rule a matches" in pages.words(response)
