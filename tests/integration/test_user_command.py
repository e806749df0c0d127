"""``gatewall user``: users managed from a shell, with the rules of the API."""

import io

import pytest
from django.core.management import CommandError, call_command

from accounts import selectors
from accounts.models import User
from gatewall.models import PolicyRevision
from tests.support.proxies import a_user

PASSWORD = "a long password of somebody"

pytestmark = pytest.mark.django_db


def user(*arguments):
    out = io.StringIO()
    call_command("user", *arguments, stdout=out)
    return out.getvalue()


def refused(*arguments):
    """Return exit code and message."""
    with pytest.raises(CommandError) as caught:
        user(*arguments)
    assert len(str(caught.value).splitlines()) == 1
    return caught.value.returncode, str(caught.value)


def named(name):
    return User.objects.get(username=name)


@pytest.fixture
def typed(monkeypatch):
    """Return a function that puts a line on standard input."""
    return lambda text: monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_a_user_is_added_with_a_password_that_is_printed_once():
    said = user("add", "ada", "--email", "ada@office.example")

    added = named("ada")
    assert (added.is_admin, added.is_active, added.email) == (False, True, "ada@office.example")
    assert added.check_password(said.split()[-1])


def test_a_password_of_standard_input_is_not_printed(typed):
    typed(f"{PASSWORD}\n")

    said = user("add", "ada", "--admin", "--password-stdin")

    assert named("ada").is_admin
    assert named("ada").check_password(PASSWORD)
    assert PASSWORD not in said


@pytest.mark.parametrize("right", ["admin", "auditor"])
def test_a_user_is_added_with_the_named_right_alone(right):
    user("add", "ada", f"--{right}")

    assert {name for name in ("admin", "auditor") if getattr(named("ada"), f"is_{name}")} == {right}


def test_a_new_password_ends_the_sessions(typed):
    a_user("ada")
    before = named("ada").session_version
    typed(PASSWORD)

    user("password", "ada", "--password-stdin")

    assert named("ada").check_password(PASSWORD)
    assert named("ada").session_version == before + 1


def test_a_random_password_is_the_one_that_is_printed():
    a_user("ada")

    said = user("password", "ADA")  # names are compared case-insensitively, as at sign-in

    assert named("ada").check_password(said.split()[-1])


def test_a_user_is_disabled_and_enabled():
    a_user("ada")

    assert user("disable", "ada") == "ada is disabled\n"
    assert not named("ada").is_active
    assert user("enable", "ada") == "ada is enabled\n"
    assert named("ada").is_active


def test_sessions_and_second_factor_end():
    ada = a_user("ada")
    before = named("ada").session_version

    user("sign-out", "ada")
    assert named("ada").session_version == before + 1
    user("recover-2fa", "ada")

    assert named("ada").session_version == before + 2
    assert not selectors.has_second_factor(ada)


def test_users_are_listed_with_their_rights():
    a_user("ada", is_admin=True)
    a_user("bob", is_auditor=True, is_active=False)

    assert {"ada  admin", "bob  auditor  disabled"} <= set(user("list").splitlines())


def test_a_change_is_a_revision_that_names_the_command():
    user("add", "ada")

    assert PolicyRevision.objects.latest("number").actor == "gatewall user"


@pytest.mark.parametrize("action", ["password", "disable", "enable", "sign-out", "recover-2fa"])
def test_an_unknown_user_is_refused(action):
    assert refused(action, "nobody") == (1, "there is no user named 'nobody'")


def test_the_last_admin_stays():
    a_user("ada", is_admin=True)

    code, words = refused("disable", "ada")

    assert (code, words) == (1, "ada is the last active admin")
    assert named("ada").is_active


def test_a_name_that_is_taken_or_odd_and_a_weak_password_are_refused(typed):
    a_user("ada")
    typed("x\n")

    assert refused("add", "ADA")[0] == 1
    assert refused("add", "a b")[0] == 1
    assert refused("password", "ada", "--password-stdin")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "field"), [(["a b"], "username"), ([""], "username"), (["ada", "--email", "nobody"], "email")]
)
def test_a_refused_value_is_named(arguments, field):
    assert refused("add", *arguments)[1].startswith(f"{field}: ")


@pytest.mark.parametrize(
    "line",
    ["", "\n", "long" * 2000, "a password \udcff\n", "a password \0\n"],
    ids=["nothing", "empty", "too long", "not UTF-8", "null character"],
)
def test_a_line_that_is_no_password_is_refused(typed, line):
    a_user("ada")
    before = named("ada").password
    typed(line)

    assert refused("password", "ada", "--password-stdin")[0] == 2
    assert named("ada").password == before
