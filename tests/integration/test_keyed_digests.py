"""Keyed digests: a copy of the database reveals neither typed names nor usable sessions of the Django admin."""

import hashlib
import os
import subprocess
import sys

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session as Row
from django.test import Client

from accounts.models import FailureCount
from accounts.session_store import SessionStore
from accounts.sign_in import throttling
from gatewall.agent import housekeeping
from tests.support.cast import MOMENT
from tests.support.proxies import enter_admin_site

pytestmark = pytest.mark.django_db
HERE = "203.0.113.7"


def test_a_typed_name_cannot_be_recovered_from_the_rows():
    throttling.attempt("correct horse", HERE, MOMENT)

    guesses = {hashlib.sha256(text.encode()).hexdigest() for text in ("correct horse", HERE, f"{HERE} correct horse")}
    assert guesses.isdisjoint(FailureCount.objects.values_list("key", flat=True))


def test_other_processes_count_under_the_same_keys():
    digest = f"from accounts.sign_in import throttling; print(throttling._digest({HERE!r}))"
    code = f"import django; django.setup(); {digest}"
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "gatewall.settings"}

    other = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)

    assert other.stdout.strip() == throttling._digest(HERE)


def test_another_secret_makes_other_keys(settings):
    before = throttling._digest(HERE)

    settings.SECRET_KEY = "another"

    assert throttling._digest(HERE) != before


@pytest.fixture
def client(alice):
    client = Client()
    enter_admin_site(client, alice)
    return client


def is_in(client):
    return client.get("/wall/admin/").status_code == 200


def key_of(client):
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def test_the_key_of_a_session_is_in_no_row_and_the_one_in_a_row_opens_nothing(client):
    row, thief = Row.objects.get(), Client()
    assert is_in(client)
    assert key_of(client) not in str(Row.objects.values())

    thief.cookies[settings.SESSION_COOKIE_NAME] = row.session_key

    assert not is_in(thief)


def test_a_row_with_the_key_itself_is_no_session(client):
    Row.objects.update(session_key=key_of(client))

    assert not is_in(client)


def test_a_session_is_saved_again_and_deleted_by_its_key(client):
    store = SessionStore(key_of(client))
    store["seen"] = 1
    store.save()
    assert (SessionStore(key_of(client))["seen"], Row.objects.count()) == (1, 1)
    assert (store.exists(key_of(client)), store.exists("x" * 32)) == (True, False)

    SessionStore().delete()
    assert is_in(client)
    store.delete(key_of(client))

    assert not is_in(client)
    assert not Row.objects.exists()


def test_a_new_key_takes_the_place_of_the_old_one(client):
    store = SessionStore(key_of(client))
    store.cycle_key()

    assert Row.objects.count() == 1
    assert not is_in(client)
    client.cookies[settings.SESSION_COOKIE_NAME] = store.session_key
    assert is_in(client)


def test_an_expired_session_is_refused_and_deleted(client, clock):
    Row.objects.update(expire_date=MOMENT)
    clock.shift(1)

    assert not is_in(client)
    housekeeping.tidy(MOMENT.replace(year=MOMENT.year + 1))

    assert not Row.objects.exists()
