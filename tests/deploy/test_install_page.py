"""The commands of docs/install.md, as far as they can be run without a container engine."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from gatewall.kernel import env
from tests.deploy.dockerfile import BASE
from tests.deploy.test_compose_postgres import COMPOSE, OURS
from tests.support.not_run import not_run

VALUES = yaml.safe_load((BASE / "deploy/helm/gatewall/values.yaml").read_text())
PAGE = (BASE / "docs" / "install.md").read_text()


def commands(heading, block=0):
    """Return the lines of a block of commands in a section, by default the first."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)[block].replace("\\\n", "").splitlines()


def run(lines, folder):
    """Run commands in a folder where our packages can be imported, with the Python of this process first in PATH."""
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"  # noqa: PTH120 - a link must stay one
    environment = {"PATH": path, "PYTHONPATH": str(BASE)}
    subprocess.run(["sh", "-euc", "\n".join(lines)], cwd=folder, env=environment, check=True, capture_output=True)


def test_the_secrets_that_compose_wants_are_made_and_are_taken(tmp_path):
    (tmp_path / "deploy" / "compose").mkdir(parents=True)
    lines = commands("Compose with PostgreSQL")
    for_root = [line for line in lines if line.startswith("chown")]
    for_docker = [line for line in lines if line.startswith("docker")]
    assert len(for_root) == len(for_docker) == 1

    run([line for line in lines if line not in {*for_root, *for_docker}], tmp_path)

    folder = tmp_path / "deploy" / "compose"
    assert "GATEWALL_PUBLIC_URL=https://" in (folder / ".env").read_text()
    for secret in COMPOSE["secrets"].values():
        assert (folder / secret["file"]).stat().st_mode & 0o077 == 0
    for name in ("migrate", "agent", "data-plane", "control-plane"):
        given = {key: value for key, value in OURS[name]["environment"].items() if not value.startswith("${")}
        config = env.read({key: value.replace("/run/", f"{folder}/") for key, value in given.items()}, tmp_path)
        assert (config.database["ENGINE"] == "gatewall.database.postgresql") is (name != "data-plane")


def test_the_page_counts_its_commands_and_files_right():
    lines = commands("Compose")
    written = re.findall(r"> (\S+)$", "\n".join(lines), re.MULTILINE)
    words = PAGE.partition("\n## Compose\n")[2].partition("```sh")[0]

    assert (len(lines), written) == (5, [".env"])
    assert "five commands, one of which writes a file (`.env`)" in words


def test_the_keys_for_the_chart_are_private_and_ignored_by_git(tmp_path):
    lines = commands("Helm")
    made = re.findall(r"--from-file=(\S+)", "\n".join(lines))
    local = lines[: next(number for number, line in enumerate(lines) if line.startswith("kubectl"))]

    run([line for line in local if not line.startswith("$EDITOR")], tmp_path)
    (tmp_path / "new/secrets/database-url").touch()

    assert {Path(name).name for name in made} == set(VALUES["secret"]["keys"].values()) - {""}
    for name in made:
        assert (tmp_path / name).is_file(), name
        assert subprocess.run(["git", "check-ignore", "-q", name], cwd=BASE, check=False).returncode == 0
        if not name.endswith("database-url"):
            assert (tmp_path / name).read_text().strip()
            assert (tmp_path / name).stat().st_mode & 0o077 == 0


def test_the_commands_for_systemd_can_be_run_on_a_host_that_is_new_and_strict(tmp_path):
    """Run the commands that copy files as the current user, below another root, with a hardened host's umask."""
    place = tmp_path / "opt" / "gatewall"
    place.parent.mkdir()
    place.symlink_to(BASE)
    for_tests = {"-g gatewall": "", "-o gatewall": "", "&& systemd-sysusers": "", "/etc/": f"{tmp_path}/etc/"}
    for_tests["/usr/local/sbin/"] = f"{tmp_path}/sbin/"
    (tmp_path / "sbin").mkdir()
    (tmp_path / "etc" / "systemd" / "system").mkdir(parents=True)
    copies = [line for line in commands("systemd") if line.startswith("install")]
    for here, there in for_tests.items():
        copies = [line.replace(here, there) for line in copies]

    run(["umask 077", f"cd {place}", *copies], tmp_path)

    assert (tmp_path / "etc/sysusers.d/gatewall.conf").stat().st_mode & 0o777 == 0o644
    # The proxy's user joins the group to reach a socket, so no file with a secret may be readable by the group.
    assert (tmp_path / "etc/gatewall/environment").stat().st_mode & 0o077 == 0
    assert len(list((tmp_path / "etc/systemd/system").iterdir())) == 5
    assert os.access(tmp_path / "sbin/gatewall", os.X_OK)
    assert commands("systemd")[0].startswith("umask 022")


def test_systemd_makes_the_user(tmp_path):
    program = shutil.which("systemd-sysusers")
    if program is None:
        not_run("no systemd-sysusers (Debian: systemd)")
    (tmp_path / "etc").mkdir()

    subprocess.run(
        [program, f"--root={tmp_path}", BASE / "deploy/systemd/gatewall.sysusers"], check=True, capture_output=True
    )

    assert re.search(
        r"^gatewall:x:\d+:\d+:Gatewall:/var/lib/gatewall:", (tmp_path / "etc/passwd").read_text(), re.MULTILINE
    )


def test_every_file_that_the_page_names_is_there():
    for name in re.findall(r"\bdeploy/[\w./-]+\w", PAGE):
        if not name.startswith("deploy/compose/secrets"):
            assert (BASE / name).exists(), name


def test_our_steps_are_counted_from_the_commands_of_the_page():
    table = PAGE.partition("\n## Steps to the first guarded site\n")[2]
    rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in table.splitlines() if "|" in line]
    counted = {row[0]: [int(re.match(r"\d+", cell)[0]) for cell in row[1:]] for row in rows if row[1][:1].isdigit()}
    written = [line for line in commands("Compose") if "> .env" in line]
    values = re.findall(r"\b[A-Z_]+=", written[0])

    assert counted["Commands"][0] == len(commands("Compose")) - len(written) + len(["git clone"])
    assert counted["Files"][0] == len(written)
    assert f".env`, {len(values)} values" in table
    kinds = zip(counted["Commands"], counted["Files"], counted["Forms"], strict=True)
    assert [sum(each) for each in kinds] == counted["Steps"]
