"""Saved views of the log: owners, valid values, and their limit."""

import pytest
from django.core.exceptions import ValidationError

from gatewall.console.log import saved_views
from gatewall.console.models import SavedView
from tests.admin.conftest import Pages
from tests.console.conftest import query_of
from tests.support.proxies import a_user, enter_admin_site

pytestmark = pytest.mark.django_db


def keep(pages, query, **values):
    token = pages.get("/log/").content.decode().partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    return pages.client.post("/wall/admin/log/views/", {"csrfmiddlewaretoken": token, "query": query, **values})


@pytest.fixture
def dora(db):
    browser = Pages()
    enter_admin_site(browser.client, a_user("dora", is_admin=True))
    return browser


def test_a_view_is_kept_found_changed_and_deleted(pages):
    kept = keep(
        pages, "outcome=deny&exclude_host=a.example&start_time=2026-03-15T09:30:00Z&refresh=10", name=" Bad  ones "
    )
    assert kept.status_code == 302
    assert query_of(kept.url) == {"outcome": "deny", "exclude_host": "a.example"}
    (view,) = SavedView.objects.all()
    assert (view.name, view.owner.username, view.shared) == ("Bad ones", "alice", False)
    assert "Bad ones" in pages.get("/log/").content.decode()

    assert pages.submit(f"/log/views/{view.pk}/", name="Worse", shared="on", delete=None).status_code == 302
    view.refresh_from_db()
    assert (view.name, view.shared) == ("Worse", True)

    assert pages.submit(f"/log/views/{view.pk}/", delete="yes").status_code == 302
    assert not SavedView.objects.exists()


def test_the_window_is_saved_only_on_request(pages):
    kept = keep(pages, "outcome=deny&start_time=2026-03-15T09:30:00Z", name="then", moments="on")
    assert "start_time" in query_of(kept.url)


@pytest.mark.parametrize("query", ["colour=red", "outcome=perhaps", "client_ip=1&client_ip=2", "path=" + "%41" * 3000])
def test_an_invalid_query_is_not_saved(pages, query):
    assert keep(pages, query, name="no").status_code == 400
    assert not SavedView.objects.exists()


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "a\0b", "a\u202eb"])
def test_a_name_is_one_line_of_text(pages, name):
    assert keep(pages, "outcome=deny", name=name).status_code == 400
    assert not SavedView.objects.exists()


def test_other_users_see_shared_views_and_cannot_change_them(pages, dora):
    keep(pages, "outcome=deny", name="mine")
    keep(pages, "outcome=allow", name="ours", shared="on")
    mine, ours = SavedView.objects.order_by("name")

    html = dora.get("/log/").content.decode()
    assert ">ours<" in html
    assert ">mine<" not in html
    assert [dora.get(f"/log/views/{view.pk}/").status_code for view in (mine, ours)] == [404, 404]


def test_names_are_unique_per_owner(pages, dora):
    assert keep(pages, "outcome=deny", name="bad").status_code == 302
    assert keep(pages, "outcome=allow", name="bad").status_code == 400
    assert keep(dora, "outcome=deny", name="bad").status_code == 302


def test_the_number_of_saved_views_is_limited(alice):
    for number in range(saved_views.MAX_VIEWS):
        saved_views.save_view(alice, name=f"view {number}", query="outcome=deny", shared=False)
    with pytest.raises(ValidationError, match="already"):
        saved_views.save_view(alice, name="one more", query="outcome=deny", shared=False)


def test_own_views_come_before_any_number_of_shared_ones(alice, dora, monkeypatch):
    monkeypatch.setattr(saved_views, "MOST_SHOWN", 1)
    keep(dora, "outcome=deny", name="a", shared="on")
    own = saved_views.save_view(alice, name="z", query="outcome=deny", shared=False)

    assert list(saved_views.seen_by(alice)) == [own]


def test_deleting_a_user_deletes_their_saved_views(alice, pages):
    saved_views.save_view(alice, name="mine", query="", shared=True)
    alice.delete()
    assert not SavedView.objects.exists()
