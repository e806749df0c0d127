"""Groups and their members through the real admin pages."""

import pytest

from gatewall.policy import revisions
from policies.admin import groups as group_pages
from policies.groups.services import create_group
from policies.models import Group


def test_a_group_is_created_changed_and_deleted(pages, office):
    assert pages.submit("/policies/group/add/", name="family", authorized_domains=[office.pk]).status_code == 302
    group = Group.objects.get()
    assert (group.name, group.created_by, group.authorized_domains.get()) == ("family", "alice", office)

    number = revisions.current().revision
    assert pages.submit(f"/policies/group/{group.pk}/change/", all_domains="on").status_code == 302
    assert Group.objects.get().all_domains
    assert revisions.current().revision == number + 1

    assert pages.delete(f"/policies/group/{group.pk}/delete/").status_code == 302
    assert not Group.objects.exists()


@pytest.mark.parametrize("name", ["admins", "Family", ""])
def test_a_name_that_cannot_be_listed_is_refused(pages, name):
    assert pages.submit("/policies/group/add/", name=name).status_code == 200
    assert not Group.objects.exists()


def test_a_user_is_put_into_a_group_on_their_page_and_shown_on_that_of_the_group(pages, bob, charlie, monkeypatch):
    group = create_group(actor="", name="family")
    page = f"/policies/group/{group.pk}/change/"
    assert "own pages" in pages.get("/policies/group/add/").content.decode()
    for user in (bob, charlie):
        assert pages.submit(f"/accounts/user/{user.pk}/change/", groups=[group.pk]).status_code == 302

    shown = pages.get(page).content.decode()
    assert f'/accounts/user/{bob.pk}/change/">Bob</a>' in shown
    assert "All members" not in shown

    monkeypatch.setattr(group_pages, "_SHOWN", 1)
    shown = pages.get(page).content.decode()
    assert f"/accounts/user/?groups__id__exact={group.pk}" in shown
    assert "charlie" not in shown
    everyone = pages.get(f"/accounts/user/?groups__id__exact={group.pk}").content.decode()
    assert ">Bob</a>" in everyone
    assert ">charlie</a>" in everyone
    assert '/change/">alice</a>' not in everyone
