"""The commands: their effects, their idempotence, and errors of a bad environment."""

import gc
import os
import stat
from pathlib import Path

import pytest
from django.contrib.auth.hashers import make_password
from django.core.management import CommandError, call_command

from accounts.models import User
from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.install.ports import free_port
from gatewall.models import PolicyRevision
from gatewall.policy import revisions, system_settings
from policies import services
from policies.models import AuthorizedDomain, WafRule
from tests.support import command_server
from tests.support.processes import PATIENCE, environment, prepare
from tests.support.proxies import PASSWORD

BASE = Path(__file__).resolve().parents[2]
KEYS = ("GATEWALL_SECRET_KEY", "GATEWALL_JWT_KEYS", "GATEWALL_DATA_KEYS")


@pytest.fixture
def home(settings, tmp_path):
    settings.GATEWALL_HOME = tmp_path
    settings.GATEWALL_ADMIN_PASSWORD = None
    return tmp_path


@pytest.mark.django_db
def test_an_admin_is_made_with_a_random_password_that_is_printed_once(home, anonymous, capsys):
    call_command("create_admin")
    password = (home / "secrets" / "admin-password").read_text().strip()

    assert password in capsys.readouterr().out
    assert len(password) >= 20
    assert anonymous.post("/admin-login", {"username": "admin", "password": password}).status_code == 200


@pytest.mark.django_db
def test_the_file_with_the_password_is_private(home, capsys):
    call_command("create_admin")

    assert stat.S_IMODE((home / "secrets" / "admin-password").stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "secrets").stat().st_mode) == 0o700


@pytest.mark.django_db
def test_a_chosen_password_is_neither_printed_nor_written(home, settings, anonymous, capsys):
    settings.GATEWALL_ADMIN_PASSWORD = PASSWORD

    call_command("create_admin", "root")

    assert PASSWORD not in capsys.readouterr().out
    assert not (home / "secrets").exists()
    assert anonymous.post("/admin-login", {"username": "root", "password": PASSWORD}).status_code == 200


@pytest.mark.django_db
def test_a_second_admin_of_the_name_is_refused(home, capsys):
    call_command("create_admin")

    with pytest.raises(CommandError, match="already"):
        call_command("create_admin", "ADMIN")


@pytest.mark.django_db
def test_if_missing_an_existing_admin_is_left_alone(home, settings, capsys):
    call_command("create_admin")
    before = User.objects.values().get()
    settings.GATEWALL_ADMIN_PASSWORD = f"{PASSWORD} 2"

    call_command("create_admin", "--if-missing")

    assert User.objects.values().get() == before


@pytest.mark.django_db
@pytest.mark.parametrize("password", ["short", "password", "x" * 129])
def test_a_bad_password_makes_no_admin(home, settings, password):
    settings.GATEWALL_ADMIN_PASSWORD = password

    with pytest.raises(CommandError) as caught:
        call_command("create_admin")

    assert not User.objects.exists()
    assert password not in str(caught.value) or password == "password"


@pytest.mark.django_db
def test_the_rules_are_seeded_once(capsys):
    call_command("seed_waf_rules")
    before = revisions.current()

    call_command("seed_waf_rules")

    assert revisions.current() == before
    assert WafRule.objects.count() == len(BUILTIN_RULES)
    assert WafRule.objects.get(name="protocol-foreign-redirect").action == "monitor"


@pytest.mark.django_db
def test_seeding_keeps_the_settings_of_operators(capsys):
    call_command("seed_waf_rules")
    rule = WafRule.objects.first()
    services.change_waf_rule(rule, enabled=False, score=1, name="mine", actor="alice")

    call_command("seed_waf_rules")

    rule.refresh_from_db()
    assert (rule.enabled, rule.score, rule.name) == (False, 1, "mine")


@pytest.mark.django_db
def test_seeding_brings_a_pattern_to_this_version(capsys):
    call_command("seed_waf_rules")
    rule = WafRule.objects.first()
    WafRule.objects.filter(pk=rule.pk).update(pattern="of an older version", enabled=False)

    call_command("seed_waf_rules")

    fresh = WafRule.objects.get(pk=rule.pk)
    assert (fresh.pattern, fresh.enabled) == (rule.pattern, False)


@pytest.mark.django_db
def test_seeding_updates_pattern_and_operator_and_keeps_edited_fields(capsys):
    call_command("seed_waf_rules")
    rule = WafRule.objects.first()
    edited = {"targets": ["query"], "transforms": [], "category": "custom", "description": "mine"}
    WafRule.objects.filter(pk=rule.pk).update(operator="contains", pattern="old", **edited)

    call_command("seed_waf_rules")

    fresh = WafRule.objects.get(pk=rule.pk)
    assert (fresh.pattern, fresh.operator) == (rule.pattern, "regex")
    assert {name: getattr(fresh, name) for name in edited} == edited


@pytest.mark.django_db
def test_seeding_renames_a_built_in_rule_whose_name_is_taken_and_logs_it(caplog):
    mine = services.create_waf_rule(actor="alice", name="xss-script-tag", pattern="x")
    services.create_waf_rule(actor="alice", name="xss-script-tag-builtin", pattern="x")

    call_command("seed_waf_rules")

    assert WafRule.objects.get(builtin_key="xss-script-tag").name == "xss-script-tag-builtin2"
    assert WafRule.objects.get(pk=mine.pk).name == "xss-script-tag"
    assert "xss-script-tag-builtin2" in caplog.text


@pytest.mark.django_db
def test_seeding_is_one_revision_of_the_seed(capsys):
    before = revisions.current().revision

    call_command("seed_waf_rules")

    revision = PolicyRevision.objects.get(pk=before + 1)
    assert revisions.current().revision == before + 1
    assert (revision.actor, len(revision.changes)) == ("seed", len(BUILTIN_RULES))


@pytest.mark.django_db
def test_seeded_domains_do_not_change_the_mode():
    call_command("seed_domains")

    assert set(AuthorizedDomain.objects.values_list("name", flat=True)) == {"localhost", "127.0.0.1", "[::1]"}
    assert system_settings.current().authorized_domains_mode == "any"


@pytest.mark.django_db
def test_the_first_domain_that_a_user_adds_to_the_seeds_changes_the_mode(admin):
    call_command("seed_domains")

    assert admin.post("/authorized-domains", {"name": "office.example"}).json()["warnings"]


@pytest.mark.django_db
def test_a_seed_that_was_removed_does_not_come_back():
    call_command("seed_domains")
    services.remove_domain(AuthorizedDomain.objects.get(name="localhost"), actor="alice")

    call_command("seed_domains")

    assert not AuthorizedDomain.objects.filter(name="localhost").exists()


@pytest.mark.django_db
def test_the_rows_match_the_migrations(capsys):
    call_command("makemigrations", "--check", "--dry-run")


@pytest.mark.django_db
def test_the_system_checks_find_nothing(capsys):
    call_command("check")


def test_a_command_of_ours_loads_no_pages_to_check_them(tmp_path):
    prepare(tmp_path)
    shown = "import sys\nfrom gatewall.management import command_line\ncommand_line.main()\n"
    shown += "print('gatewall.urls' in sys.modules)"

    def loads_pages(*arguments):
        done = command_server.run(arguments, env=environment(tmp_path), code=shown, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[-1] == "True"

    assert not any(loads_pages("seed-domains", *more) for more in ([], ["--skip-checks"]))
    assert not loads_pages("migrate", "--verbosity=0")
    assert loads_pages("check")


def test_passwords_are_hashed_with_argon2id_at_the_cost_that_owasp_asks_for(settings):
    from gatewall.settings import PASSWORD_HASHERS  # noqa: PLC0415

    settings.PASSWORD_HASHERS = PASSWORD_HASHERS

    assert make_password(PASSWORD).startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")


@pytest.mark.django_db
def test_the_real_hasher_accepts_the_exact_password_alone(settings, anonymous, wall):
    from gatewall.settings import PASSWORD_HASHERS  # noqa: PLC0415

    settings.PASSWORD_HASHERS = PASSWORD_HASHERS
    wall.a_user("dora")
    statuses = [
        anonymous.post("/login", {"username": "dora", "password": password}).status_code
        for password in (PASSWORD, f"{PASSWORD} ", PASSWORD.upper())
    ]

    assert statuses == [200, 401, 401]


def manage(*arguments, **variables):
    """Run manage.py with only these variables in its environment."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG") if name in os.environ}
    return command_server.run(arguments, env={**kept, **variables}, timeout=PATIENCE)


@pytest.mark.parametrize(
    "variables",
    [{"GATEWALL_PORT": "0"}, {"GATEWALL_COLOUR": "red"}, {"GATEWALL_TRUSTED_PROXIES": "0.0.0.0/0"}, {}],
    ids=["bad", "unknown", "dangerous", "no keys"],
)
@pytest.mark.parametrize("command", ["check", "create_admin"])
def test_a_bad_environment_is_one_line_and_exit_code_2(tmp_path, variables, command):
    result = manage(command, GATEWALL_HOME=str(tmp_path), **variables)

    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith(f"gatewall: {next(iter(variables), 'GATEWALL_SECRET_KEY')}")
    assert result.stdout == ""


def test_a_good_environment_passes_the_checks(tmp_path):
    keys = {name: os.environ[name] for name in KEYS}

    result = manage("check", GATEWALL_HOME=str(tmp_path), **keys)

    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("command", ["up", "migrate", "create_admin"])
@pytest.mark.parametrize(
    "url",
    ["postgresql://gate:hunter2@127.0.0.1:1/gate", "postgresql://127.0.0.1:1/hunter2", "sqlite:////nowhere/a.sqlite3"],
    ids=["refused", "no password", "no such folder"],
)
def test_a_database_that_cannot_be_reached_is_one_line_and_exit_code_2(tmp_path, free_ports, command, url):
    keys = {name: os.environ[name] for name in KEYS}

    result = manage(command, GATEWALL_HOME=str(tmp_path), DATABASE_URL=url, **keys, **free_ports)

    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("gatewall: DATABASE_URL: the database cannot be used: ")
    assert "Traceback" not in result.stdout
    assert "hunter2" not in result.stdout + result.stderr


@pytest.fixture
def free_ports():
    return {name: str(free_port()) for name in ("GATEWALL_PORT", "GATEWALL_AUTH_PORT", "GATEWALL_DEMO_PORT")}


def test_garbage_collection_is_on_again_once_everything_is_loaded():
    assert gc.isenabled()
    assert gc.get_freeze_count() > 100_000


def test_a_folder_without_requests_is_refused_before_the_waf_rules_are_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr("gatewall.engine.waf.vector._compiled", lambda _: pytest.fail("compiled for no request"))

    with pytest.raises(CommandError, match=r"no \.jsonl"):
        call_command("waf", "rates", str(tmp_path))
