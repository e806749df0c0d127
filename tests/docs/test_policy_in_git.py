"""docs/how-to/policy-in-git.md: run its lines as printed on a host with Gatewall."""

import os
import subprocess

import pytest
import yaml

from gatewall.install.ports import free_port
from tests.docs.how_to import FOLDER, blocks
from tests.support.processes import control_plane, environment, prepare
from tests.support.servers import Admin
from tests.support.typed_command import put_command


@pytest.fixture
def shell(tmp_path):
    """Return a function that runs lines in a shell of the host and returns exit code and output."""
    home, port, folder = tmp_path / "home", free_port(), tmp_path / "work"
    home.mkdir()
    prepare(home)
    commands = tmp_path / "bin"
    commands.mkdir()
    put_command(commands)
    (folder / "policy").mkdir(parents=True)
    who = {f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    with control_plane(home, port, GATEWALL_WORKERS="1"):
        admin = Admin(port)
        token = admin.post("/api-tokens", name="ci", scopes=["policy:read", "policy:write", "logs:read"])["token"]
        ours = {"WALL_URL": f"http://127.0.0.1:{port}/wall"}
        path = {"PATH": f"{commands}:{os.environ['PATH']}"}

        def run(lines, where="policy"):
            done = subprocess.run(
                ["bash", "-euc", lines],
                cwd=folder / where,
                env={**environment(home), **ours, **who, **path, "GATEWALL_API_TOKEN": token},
                capture_output=True,
                text=True,
                check=False,
            )
            return done.returncode, done.stdout + done.stderr

        yield run, admin, folder / "policy" / "policy.yaml"


def test_the_workflow_runs_the_lines_of_the_page():
    _, plan, apply, _ = blocks("policy-in-git", "sh")
    jobs = yaml.safe_load((FOLDER / "policy-workflow.yml").read_text())["jobs"]
    runs = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()}

    assert runs["plan"][0] == plan.strip().replace(" --no-replay", "")
    assert runs["apply"] == [apply.strip()]


def test_the_lines_of_the_page_export_plan_apply_and_detect_drift(shell):
    run, admin, file = shell
    export, plan, apply, drift = blocks("policy-in-git", "sh")

    assert run(export, ".") == (0, "")
    assert run("git log --format=%s")[1] == "Export the policy\n"
    assert run(drift)[0] == 0
    assert run(plan) == (0, "")
    assert "No changes." in (file.parent / "plan.txt").read_text()

    file.write_text(file.read_text().replace("countries: []\n", "countries:\n- country_code: NZ\n"))
    assert run(plan) == (0, "")
    assert "geo-block-rules:\n  + NZ\n" in (file.parent / "plan.txt").read_text()
    code, out = run(apply)
    assert code == 0
    assert "Applied as revision" in out
    assert run(drift)[0] == 0

    admin.post("/geo-block-rules", country_code="NO")
    code, out = run(drift)
    assert (code, out.splitlines()[:2]) == (3, ["countries:", "  - NO"])
