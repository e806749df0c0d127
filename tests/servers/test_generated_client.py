"""A client generated from the OpenAPI document works with a real control plane.

openapi-python-client skips what it does not understand and warns of it; here it must understand everything.
"""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from gatewall.api.pagination import PAGE_SIZE
from gatewall.install.ports import free_port
from tests.support.processes import PASSWORD, control_plane, prepare

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"
PACKAGE = "generated_gatewall"


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """Return the output of the generator; its package can be imported."""
    folder = tmp_path_factory.mktemp("generated")
    command = [Path(sys.executable).with_name("openapi-python-client"), "generate", "--meta", "none"]
    arguments = ["--path", DOCUMENT, "--output-path", folder / PACKAGE]
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}  # the generator starts ruff
    run = subprocess.run([*command, *arguments], env=environ, capture_output=True, text=True, check=False)
    sys.path.insert(0, str(folder))
    yield run
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    home, port = tmp_path_factory.mktemp("home"), free_port()
    prepare(home)
    with control_plane(home, port, GATEWALL_WORKERS="1"):
        yield f"http://127.0.0.1:{port}/wall"


@pytest.fixture
def anonymous(generated, url):
    with part("client").Client(base_url=url, raise_on_unexpected_status=True) as client:
        yield client


@pytest.fixture
def admin(generated, url, anonymous):
    token = sign_in(anonymous).token
    made = part("client").AuthenticatedClient(
        base_url=url, token=token, prefix="", auth_header_name="Service-Authorization", raise_on_unexpected_status=True
    )
    with made as client:
        yield client


def part(name):
    return import_module(f"{PACKAGE}.{name}")


def model(name):
    return getattr(part("models"), name)


def call(name, client, *arguments, **named):
    """Call ``api.<name>``; return the response object as parsed by the client."""
    return part(f"api.{name}").sync(*arguments, client=client, **named)


def sign_in(client, password=PASSWORD):
    return call("login.login", client, body=model("LoginInput")("admin", password))


def test_the_generator_understands_all_of_the_document(generated):
    said = generated.stdout + generated.stderr

    assert generated.returncode == 0, said
    assert "WARNING" not in said


def test_every_operation_of_the_client_can_be_imported(generated):
    api = Path(part("api").__file__).parent
    modules = [path for path in api.glob("*/*.py") if path.name != "__init__.py"]

    assert len(modules) > 50
    assert all(part(f"api.{path.parent.name}.{path.stem}").sync_detailed for path in modules)


def test_signing_in_gives_a_session_or_a_challenge_or_a_problem(anonymous):
    signed_in, refused = sign_in(anonymous), sign_in(anonymous, "wrong")

    assert isinstance(signed_in, model("SignedIn"))
    assert (signed_in.user.username, signed_in.expires_at.tzinfo is not None) == ("admin", True)
    assert isinstance(refused, model("Problem401"))
    assert refused.code == "invalid-credentials"


def test_an_entry_is_created_listed_changed_and_deleted(admin):
    made = call("ip_black_list.ip_black_list_create", admin, body=model("BlocklistEntryInput")("203.0.113.7"))
    changed = call(
        "ip_black_list.ip_black_list_update", admin, made.id, body=model("BlocklistEntryChange")(remark="a scanner")
    )
    listed = call("ip_black_list.ip_black_list_list", admin, ip="203.0.113.0/24")
    gone = part("api.ip_black_list.ip_black_list_destroy").sync_detailed(made.id, client=admin)

    assert (made.ip, made.source, made.expires_at) == ("203.0.113.7", "manual", None)
    assert (changed.remark, listed.count, listed.results[0].remark) == ("a scanner", 1, "a scanner")
    assert gone.status_code == 204
    assert call("ip_black_list.ip_black_list_retrieve", admin, made.id).code == "not-found"


LISTS = (
    "authorized_domains",
    "geo_block_rules",
    "ip_black_list",
    "ip_white_list",
    "licenses",
    "policy.policy_revisions",
    "users",
    "waf_rules",
)


@pytest.mark.parametrize("name", LISTS)
def test_every_list_is_read(admin, name):
    call_name = f"{name}_list" if "." in name else f"{name}.{name}_list"

    page = call(call_name, admin)

    assert len(page.results) == min(page.count, PAGE_SIZE)


def test_a_rule_and_a_license_are_made(admin):
    rule = model("WafRuleInput")(name="no backups", pattern=r"\.bak$", targets=[model("WafRuleInputTargetsItem").PATH])
    made = call("waf_rules.waf_rules_create", admin, body=rule)
    license_ = call("licenses.licenses_create", admin, body=model("LicenseInput")(name="build machine"))

    assert (made.score, made.domain, made.builtin) == (5, None, False)
    assert license_.token.startswith("gwl_")


def test_settings_are_read_and_changed(admin):
    before = call("system.system_settings_show", admin)
    after = call("system.system_settings_change", admin, body=model("SettingsChange")(contact="it@office.example"))

    assert (before.contact, after.contact, after.waf_mode) == ("", "it@office.example", before.waf_mode)


def test_a_refused_body_is_a_problem_with_its_fields(admin):
    refused = call("ip_black_list.ip_black_list_create", admin, body=model("BlocklistEntryInput")("nowhere"))

    assert isinstance(refused, model("Problem400"))
    assert [error.field for error in refused.errors] == ["ip"]


def test_a_request_is_explained_and_the_policy_read_again(admin):
    question = model("ExplainInput")(client_ip="198.51.100.9", host="office.example", method="GET", uri="/")
    explained = call("policy.policy_explain", admin, body=question)
    reloaded = call("system.system_reload", admin)

    assert explained.decision.reason == "credential-missing"
    assert reloaded.revision > 0
