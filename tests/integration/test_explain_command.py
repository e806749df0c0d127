"""``gatewall explain``: the explanation of a decision at the terminal."""

import json

import pytest
from django.core.management import CommandError, call_command

from gatewall.engine.steps import STEPS
from policies import services
from tests.support.proxies import a_git_token, a_license, a_token

pytestmark = pytest.mark.django_db
VISIT = ("explain", "--client-ip", "203.0.113.9", "--host", "app.example", "--uri", "/x")


@pytest.fixture
def said(capsys):
    """Return a function that runs the command and returns its output."""

    def run(*arguments):
        call_command(*VISIT, *arguments)
        return capsys.readouterr().out

    return run


def test_the_output_has_the_decision_and_every_step(said):
    entry = services.block_network(actor="alice", network="203.0.113.0/24")

    first, *rest = said().splitlines()

    assert first == "403 client-blocked (deny)"
    (line,) = (line for line in rest if line.endswith("<- decides"))
    assert line.split()[:2] == ["2", "client-is-blocked"]
    assert f"ip-black-list {entry.pk}" in line
    assert sum(line.endswith("(not reached)") for line in rest) == len(STEPS) - 2


def test_a_named_user_is_treated_as_signed_in(said, bob):
    services.register_domain(actor="", name="app.example", access="two_factor", seed=True)

    assert said("--user", "BOB").startswith("401 second-factor-required")
    assert said("--user", "bob", "--amr", "pwd,otp").startswith("200 session-valid")


def test_a_named_license_is_treated_as_sent(said):
    a_license()

    assert said("--license", "build farm").startswith("200 license-valid")


@pytest.mark.parametrize("kind", ["session", "git-token", "license"])
def test_a_token_is_read_from_a_file_and_not_printed(said, bob, tmp_path, kind):
    token = {"session": a_token, "git-token": lambda bob: f"Bob:{a_git_token(bob)}", "license": lambda _: a_license()}
    text = token[kind](bob)
    (tmp_path / "token").write_text(f"{text}\n")

    output = said("--token-file", str(tmp_path / "token"))

    assert output.startswith(f"200 {kind}-valid")
    assert text not in output


def test_method_scheme_and_headers_are_options(said):
    services.create_waf_rule(actor="alice", name="agent", pattern="evil", targets=["user-agent"])

    shown = json.loads(said("--json", "--header", "User-Agent: evil", "--method", "POST", "--scheme", "https"))

    assert shown["decision"]["reason"] == "waf-rule"
    assert "proto" in shown["visible"]


def test_json_output_equals_the_answer_of_the_api(said, admin):
    body = {"client_ip": "203.0.113.9", "host": "app.example", "uri": "/x", "method": "GET"}

    assert json.loads(said("--json")) == admin.post("/policy/explain", body).json()


def test_a_malformed_request_is_explained(said):
    assert said("--method", "get").splitlines()[:2] == [
        "403 request-malformed (deny)",
        "malformed: x-forwarded-method is not a method in capital letters",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--user", "nobody"),
        ("--user", "nobody", "--amr", "magic"),
        ("--license", "nothing"),
        ("--token-file", "/nowhere/token"),
        ("--token-file", "/"),
        ("--header", "Host: other.example"),
        ("--uri", "/" + "a" * 9000),
    ],
    ids=lambda arguments: " ".join(arguments)[:40],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments):
    with pytest.raises(CommandError) as caught:
        call_command(*VISIT, *arguments)

    assert caught.value.returncode == 2
    assert len(str(caught.value).splitlines()) == 1


def test_a_file_that_holds_no_text_is_not_shown(tmp_path):
    (tmp_path / "token").write_bytes(b"hunter2\xff")

    with pytest.raises(CommandError) as caught:
        call_command(*VISIT, "--token-file", str(tmp_path / "token"))

    assert (caught.value.returncode, "hunter2" in str(caught.value)) == (2, False)
