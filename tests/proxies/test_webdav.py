"""rclone through nginx to a real WebDAV server, with an app token as its password."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from gatewall.install.ports import free_port
from tests.support.not_run import not_run
from tests.support.processes import (
    PATIENCE,
    agent,
    control_plane,
    data_plane,
    is_listening,
    nginx,
    prepare,
    request,
    running,
    wait_until,
)
from tests.support.servers import Admin

RCLONE = shutil.which("rclone") or ""
HOST = "127.0.0.1"
pytestmark = pytest.mark.full


class Drive(NamedTuple):
    """A folder behind Gatewall as a WebDAV server, and the id of its user."""

    proxy: int
    folder: Path
    admin: Admin
    user: int

    def token(self, name, prefix="/dav"):
        """Make an app token for this path; return its text and its path in the API."""
        path = f"/users/{self.user}/app-tokens"
        row = self.admin.post(path, name=name, authorized_domains=[HOST], path_prefixes=[prefix])
        return row["token"], f"{path}/{row['id']}"

    def rclone(self, token, *arguments):
        """Run rclone as a client with this password."""
        hidden = subprocess.run([RCLONE, "obscure", token], capture_output=True, text=True, check=True).stdout.strip()
        remote = {"url": f"http://{HOST}:{self.proxy}/dav", "user": "dora", "pass": hidden, "vendor": "other"}
        options = [part for name, value in remote.items() for part in (f"--webdav-{name}", value)]
        command = [RCLONE, "--config", "", "--retries", "1", *options, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    if not RCLONE:
        not_run("WebDAV, because there is no rclone (apt-get install rclone)")
    home, folder, log = (tmp_path_factory.mktemp(name) for name in ("home", "folder", "log"))
    control, auth, site = free_port(), free_port(), free_port()
    prepare(home)
    serve = [RCLONE, "--config", "", "serve", "webdav", str(folder), "--addr", f"{HOST}:{site}", "--baseurl", "/dav"]
    few = {"GATEWALL_WORKERS": "1"}
    with (
        running(serve, log=log / "rclone.log", env=dict(os.environ)),
        agent(home),
        control_plane(home, control, **few),
        data_plane(home, auth, **few),
        nginx(tmp_path_factory.mktemp("nginx"), gate=control, auth=f"{HOST}:{auth}", site=site) as proxy,
    ):
        wait_until(lambda: is_listening(site), what="the WebDAV server")
        admin = Admin(control)
        admin.post("/authorized-domains", name="other.example")  # from now on unknown hosts are refused
        user = admin.post("/users", username="dora", password="wrong donkey cell pin")["id"]
        yield Drive(proxy, folder, admin, user)


@pytest.fixture(autouse=True)
def empty(drive):
    yield
    for path in drive.folder.iterdir():
        shutil.rmtree(path)


def test_files_are_sent_moved_listed_and_deleted(drive, tmp_path):
    token, _ = drive.token("laptop")
    (tmp_path / "a b.txt").write_text("text")

    for arguments in (
        ("copy", str(tmp_path), ":webdav:files/sent"),
        ("moveto", ":webdav:files/sent/a b.txt", ":webdav:files/moved/ü.txt"),
        ("copy", ":webdav:files/moved", str(tmp_path / "back")),
    ):
        run = drive.rclone(token, *arguments)
        assert run.returncode == 0, run.stderr
    assert drive.rclone(token, "lsf", "-R", ":webdav:files").stdout.split() == ["moved/", "sent/", "moved/ü.txt"]
    assert (tmp_path / "back" / "ü.txt").read_text() == "text"
    assert drive.rclone(token, "purge", ":webdav:files/moved").returncode == 0
    assert [path.name for path in (drive.folder / "files").iterdir()] == ["sent"]


def test_a_token_for_another_path_and_a_deleted_one_are_refused(drive):
    other, _ = drive.token("photos", "/photos")
    token, row = drive.token("phone")
    assert "403" in drive.rclone(other, "lsf", ":webdav:").stderr
    assert drive.rclone(token, "lsf", ":webdav:").returncode == 0

    drive.admin.delete(row)

    wait_until(lambda: drive.rclone(token, "lsf", ":webdav:").returncode != 0, what="the end of the token")
    assert "401" in drive.rclone(token, "lsf", ":webdav:").stderr


def test_a_move_out_of_the_path_of_the_token_is_refused(drive):
    token, _ = drive.token("own", "/dav/own")
    assert drive.rclone(token, "mkdir", ":webdav:own/folder").returncode == 0

    run = drive.rclone(token, "moveto", ":webdav:own/folder", ":webdav:others")

    assert run.returncode != 0
    assert not (drive.folder / "others").exists()
    assert request(drive.proxy, "/dav/", {"Authorization": "Basic bm9ib2R5Ong="}).status == 401
