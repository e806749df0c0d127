"""The first administrator: created once, by the reader of the log, with its one-time link."""

import logging
import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, connection

from accounts.models import User
from gatewall.portal import first_run
from gatewall.snapshot.host_paths import run_folder
from tests.support.proxies import PASSWORD, a_user
from tests.support.visitor import Visitor, field, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor():
    return Visitor()


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.WARNING, "gatewall.portal.first_run")
    return caplog


@pytest.fixture
def token(log):
    first_run.announce()
    return re.search(r"/wall/setup\?token=(\S+)", log.text)[1]


def secret_file(settings):
    return run_folder(settings.GATEWALL_HOME) / "setup-token"


def name_admin(visitor, token, username="root", password=PASSWORD, headers=None):
    return visitor.send("/setup", headers, token=token, username=username, password=password)


def test_the_link_in_the_log_creates_an_admin_who_can_sign_in(visitor, token):
    page = visitor.get("/setup", {"token": token})
    answer = name_admin(visitor, field(page, "token"))

    assert (page.status_code, answer.status_code, answer.headers["Location"]) == (200, 303, "/wall/")
    assert User.objects.get().is_admin
    assert visitor.sign_in("root").status_code == 303


def test_the_link_works_once(visitor, token, settings):
    name_admin(visitor, token)

    assert visitor.get("/setup", {"token": token}).status_code == 404
    assert name_admin(visitor, token, "second").status_code == 404
    assert not secret_file(settings).exists()
    assert User.objects.count() == 1


@pytest.mark.parametrize("wrong", ["", "x", "a" * 43, "%00", "ä"])
def test_a_wrong_or_missing_secret_is_404(visitor, token, wrong):
    assert visitor.get("/setup", {"token": wrong}).status_code == 404
    assert visitor.get("/setup").status_code == 404
    assert name_admin(visitor, wrong).status_code == 404
    assert not User.objects.exists()


@pytest.mark.parametrize("content", [b"", b"\n", b"short", b"\xff" * 43])
def test_a_damaged_secret_opens_nothing(visitor, settings, content):
    """An empty file must not be opened by an empty secret."""
    secret_file(settings).write_bytes(content)

    for token in ("", "short", content.decode("latin-1")):
        assert visitor.get("/setup", {"token": token}).status_code == 404
        assert name_admin(visitor, token).status_code == 404


def test_without_a_link_in_the_log_the_page_is_404(visitor):
    assert visitor.get("/setup", {"token": ""}).status_code == 404


def test_the_link_is_good_for_an_hour_and_a_restart_makes_another(visitor, token, settings, log):
    old = time.time() - first_run.LIFETIME_SECONDS - 1
    os.utime(secret_file(settings), (old, old))

    assert visitor.get("/setup", {"token": token}).status_code == 404
    log.clear()
    first_run.announce()
    assert token not in log.text
    assert visitor.get("/setup", {"token": re.search(r"token=(\S+)", log.text)[1]}).status_code == 200


def test_processes_that_start_together_print_one_link(token, log):
    with ThreadPoolExecutor(8) as pool:
        secrets = set(pool.map(lambda _: first_run._secret_for_all_processes(), range(32)))

    assert secrets == {token}


def test_the_secret_file_is_private_and_leaves_no_temporary_file(token, settings):
    path = secret_file(settings)

    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == token
    assert list(path.parent.glob(f".{path.name}.*")) == []


def test_no_link_is_printed_once_an_admin_exists(alice, log, settings):
    first_run.announce()

    assert log.text == ""
    assert not secret_file(settings).exists()


def test_an_admin_that_was_created_elsewhere_closes_the_page(visitor, token):
    a_user("alice", is_admin=True)

    assert visitor.get("/setup", {"token": token}).status_code == 404
    assert name_admin(visitor, token).status_code == 404


def test_a_user_without_admin_rights_does_not_close_the_page(visitor, bob, token):
    assert name_admin(visitor, token).status_code == 303


def test_a_database_that_cannot_be_read_prints_nothing(log, monkeypatch):
    def unreadable():
        raise OperationalError

    monkeypatch.setattr(first_run.selectors, "has_admin", unreadable)
    first_run.announce()

    assert log.text == ""


@pytest.mark.parametrize(
    ("username", "password"),
    [("root", "short"), ("root", "password123"), ("root", ""), ("a b", PASSWORD), ("", PASSWORD), ("<b>", PASSWORD)],
)
def test_a_refused_form_shows_an_error_and_keeps_the_link(visitor, token, username, password):
    page = name_admin(visitor, token, username, password)

    assert (page.status_code, 'role="alert"' in page.text) == (400, True)
    assert field(page, "token") == token
    assert "<b>" not in page.text
    assert not User.objects.exists()
    assert name_admin(visitor, token).status_code == 303


def test_a_name_that_is_taken_is_refused(visitor, bob, token):
    page = name_admin(visitor, token, "BOB")

    assert (page.status_code, "This name is used already." in words(page)) == (409, True)


def test_a_form_sent_by_another_site_creates_no_admin(visitor, token):
    assert name_admin(visitor, token, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert not User.objects.exists()


def test_the_link_uses_the_public_url(log, settings):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example"
    first_run.announce()

    assert "https://wall.example/wall/setup?token=" in log.text


def test_the_page_shows_the_host_of_the_session_cookie(visitor, token, settings):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example.com"

    page = visitor.get("/setup", {"token": token})

    assert "The session cookie is for that host alone until you register sites below example.com." in words(page)


@pytest.mark.django_db(transaction=True)
def test_two_simultaneous_requests_create_one_first_admin(token):
    barrier = threading.Barrier(2)

    def race(name):
        try:
            barrier.wait(timeout=60)
            return name_admin(Visitor(), token, name).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        statuses = sorted(pool.map(race, ["first", "second"]))

    assert User.objects.filter(is_admin=True).count() == 1
    assert statuses[0] == 303
    assert statuses[1] in {404, 409}
