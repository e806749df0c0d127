"""The page of the app profiles: its content, and the changes that its buttons make."""

import pytest

from gatewall.models import PolicyRevision
from policies.access_rules.services import create_access_rule
from policies.app_profiles.loading import profiles
from policies.models import AccessRule, WafRule
from policies.rules.builtin import seed_waf_rules
from tests.console.test_explain_pages import text_of

pytestmark = pytest.mark.django_db
PAGE = "/app-profiles/"
OFFICE = f"{PAGE}?domain=office.example"


def press(pages, do, profile, domain="office.example"):
    return pages.submit(PAGE, do=do, profile=profile, domain=domain)


def row_of(page, name):
    (row,) = (each for each in page.context["rows"] if each["profile"].name == name)
    return row


def test_every_profile_is_shown_with_rules_exclusions_and_reasons(pages, office):
    page = pages.get(PAGE)
    words = text_of(page)

    assert [each["profile"].name for each in page.context["rows"]] == list(profiles())
    for profile in profiles().values():
        assert profile.title in words
        assert all(rule.safe_because in words and rule.opens in words for rule in profile.rules)
        assert all(each.why in words and each.rules[0] in words for each in profile.waf_exclusions)
        assert all(each.reason in words for each in profile.not_opened)
    assert "Apply to" not in words


def test_choosing_a_domain_applies_and_removes_a_profile_in_one_revision_each(pages, office):
    seed_waf_rules(actor="seed")
    before = PolicyRevision.objects.count()

    assert press(pages, "apply", "paperless-ngx").status_code == 302
    page = pages.get(OFFICE)

    assert PolicyRevision.objects.count() == before + 1
    assert "are applied" not in text_of(page)
    assert row_of(page, "paperless-ngx")["is_applied"]
    assert not row_of(page, "jellyfin")["is_applied"]
    assert AccessRule.objects.filter(domains=office).count() == len(profiles()["paperless-ngx"].rules)
    key = profiles()["paperless-ngx"].waf_exclusions[0].rules[0]
    assert [each["domain"] for each in WafRule.objects.get(builtin_key=key).exclusions] == ["office.example"]

    assert press(pages, "remove", "paperless-ngx").status_code == 302
    assert PolicyRevision.objects.count() == before + 2
    assert not AccessRule.objects.exists()
    assert WafRule.objects.get(builtin_key=key).exclusions == []
    assert not row_of(pages.get(OFFICE), "paperless-ngx")["is_applied"]


def test_applying_a_profile_shows_the_required_settings_of_the_application(pages, office):
    (profile, *_) = (each for each in profiles().values() if any(rule.needs for rule in each.rules))

    press(pages, "apply", profile.name)

    assert f"{profile.title} is applied to office.example" in (words := text_of(pages.get(OFFICE)))
    assert all(f"Required setting of the app: {rule.needs}" in words for rule in profile.rules if rule.needs)


def test_applying_a_profile_warns_of_a_rule_that_can_never_match(pages, office):
    create_access_rule(actor="", name="closed", access="denied", domains=[office])

    press(pages, "apply", "jellyfin")

    assert "the rule can never match" in text_of(pages.get(OFFICE))


def test_applying_twice_and_removing_an_unapplied_profile_are_refused(pages, office):
    press(pages, "apply", "jellyfin")
    twice = press(pages, "apply", "jellyfin")
    gone = press(pages, "remove", "nextcloud")

    assert (twice.status_code, gone.status_code) == (409, 409)
    assert "rules of this profile already" in text_of(twice)
    assert "has no rule of this profile" in text_of(gone)
    assert AccessRule.objects.count() == len(profiles()["jellyfin"].rules)


@pytest.mark.parametrize(
    ("do", "profile", "domain"),
    [
        ("apply", "nothing", "office.example"),
        ("apply", "jellyfin", "nowhere.example"),
        ("other", "jellyfin", "office.example"),
    ],
)
def test_an_unknown_profile_or_domain_is_not_found(pages, office, do, profile, domain):
    assert press(pages, do, profile, domain).status_code == 404
    assert pages.get(f"{PAGE}?domain=nowhere.example").status_code == 404
    assert not AccessRule.objects.exists()


def test_pages_of_a_domain_link_to_its_profiles(pages, office):
    link = "/app-profiles/?domain=office.example"

    assert link in pages.get("/policies/authorizeddomain/").content.decode()
    assert link in pages.get(f"/policies/authorizeddomain/{office.pk}/change/").content.decode()
    first = "/first-site/?site=office.example&access=authenticated&proxy=nginx&upstream=127.0.0.1:8000"
    assert link in pages.get(first).content.decode()
