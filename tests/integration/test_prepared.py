"""Prepared queries, whose SQL is generated once, find the same rows as the query, for each value."""

import uuid
from datetime import timedelta

import pytest
from django.db import Error, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Session, User
from gatewall.database.prepared import Prepared
from gatewall.models import SystemSettings
from gatewall.policy import system_settings
from policies import policy_source, services
from policies.grants.services import create_grant
from policies.models import Grant, WafRule
from policies.rules.builtin import seed_waf_rules
from tests.support.proxies import a_token

pytestmark = pytest.mark.django_db
WITH_DOMAIN = Prepared(lambda: WafRule.objects.select_related("domain").order_by("name"))
SESSION = Prepared(lambda key: Session.objects.select_related("user").filter(pk=key, user__is_active=True))
GRANTS = Prepared(
    lambda name, first: Grant.objects.filter(domain__name=name, id__gte=first).values_list(
        "id", "domain__name", "methods", "expires_at"
    )
)
BACKWARDS = Prepared(lambda most, least: User.objects.filter(id__gte=least, id__lt=most))
BEGINNING = Prepared(lambda text: User.objects.filter(username__startswith=text))


def as_dict(row):
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def test_objects_are_those_of_the_query_with_their_related_ones(office, django_assert_num_queries):
    for number, domain in enumerate((None, office)):
        services.create_waf_rule(actor="x", name=f"rule {number}", pattern="a", domain=domain)

    for _ in range(2):  # the statement is generated, and then reused
        with django_assert_num_queries(1):
            without, with_one = WITH_DOMAIN()
            assert (without.domain, with_one.domain) == (None, office)
        assert [as_dict(row) for row in (without, with_one)] == [
            as_dict(row) for row in WafRule.objects.order_by("name")
        ]
    assert (with_one._state.adding, with_one._state.db) == (False, "default")


def test_values_are_those_of_the_query_for_each_value(office, bob):
    ends = timezone.now() + timedelta(hours=1)
    made = [create_grant(actor="x", user=bob, domain=office, expires_at=ends, methods=["GET"]) for _ in range(2)]

    for first in (0, made[1].pk, made[1].pk + 1):
        expected = [(each.pk, office.name, ["GET"], ends) for each in made if each.pk >= first]
        assert list(GRANTS(office.name, first)) == expected
    assert list(GRANTS("other.example", 0)) == []


def test_a_session_is_found_by_its_id_alone(alice, bob):
    for user in (alice, bob):
        a_token(user)

    for session in Session.objects.all():
        assert SESSION.first(session.pk).user == session.user
    User.objects.filter(pk=bob.pk).update(is_active=False)
    assert [SESSION.first(each.pk) is None for each in Session.objects.order_by("issued_at")] == [False, True]
    assert SESSION.first(uuid.uuid4()) is None


def test_the_statement_is_that_of_the_query():
    list(policy_source._DOMAINS())  # written

    with CaptureQueriesContext(connection) as captured:
        list(policy_source._DOMAINS())
        list(policy_source._DOMAINS._make())

    assert captured[0]["sql"] == captured[1]["sql"]


def test_a_change_invalidates_the_row_that_was_read_before_it():
    assert system_settings.current().pk == 1

    system_settings.change(actor="x", waf_threshold=7)

    assert system_settings.current().waf_threshold == SystemSettings.objects.get().waf_threshold == 7


def test_a_rule_of_each_kind_is_read(office):
    seed_waf_rules(actor="x")

    found = policy_source.waf_rules()

    assert found == tuple(policy_source.engine_rule(row) for row in WafRule.objects.filter(enabled=True))
    assert len(found) > 100


def test_values_that_the_query_would_transform_are_refused():
    with pytest.raises(TypeError, match="not the parameters"):
        BEGINNING("a")


def test_equal_values_leave_the_parameter_order_undetermined(bob):
    assert list(BACKWARDS(bob.pk, bob.pk)) == []

    with pytest.raises(TypeError, match="not the parameters"):
        BACKWARDS(bob.pk + 1, bob.pk)


def test_a_call_without_values_is_refused_and_does_not_reuse_earlier_ones(alice):
    a_token(alice)
    assert SESSION.first(Session.objects.get().pk).user == alice

    with pytest.raises(Error):
        SESSION.first()
