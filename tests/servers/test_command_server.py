"""Processes that are forked for tests end, write and handle signals like those of `subprocess`."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from gatewall import settings as ours
from tests.support import command_server
from tests.support.preloaded_django import WhileImporting
from tests.support.processes import BASE, PATIENCE, agent, environment, make_keys

WHAT_DEPENDS_ON_THE_INSTALLATION = """
import gc, os, re
mask = os.umask(0)
os.umask(mask)
import django
print(gc.isenabled(), mask)
django.setup()
import logging
from django.conf import settings
from django.core.cache import caches
from django.db import connection
from django.urls import reverse
from drf_spectacular.settings import spectacular_settings
from rest_framework_simplejwt.settings import api_settings
print(caches["default"].__class__, connection.vendor, connection.settings_dict, reverse("schema"))
for name in sorted(filter(str.isupper, dir(settings))):
    print(name, re.sub(" at 0x[0-9a-f]*", "", repr(getattr(settings, name))))
print(gc.isenabled(), os.umask(0), sorted(os.environ.items()), logging.getLogger("gatewall").getEffectiveLevel())
print(api_settings.SIGNING_KEY, spectacular_settings.SERVERS, spectacular_settings.SCHEMA_PATH_PREFIX)
"""


def code(text, home, timeout=PATIENCE):
    return command_server.run([], env=environment(home), code=text, timeout=timeout)


@pytest.mark.parametrize(
    ("text", "ending"),
    [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9), ("1 / 0", 1), ("", 0)],
)
def test_the_exit_code_is_that_of_the_process(tmp_path, text, ending):
    assert code(text or "pass", tmp_path).returncode == ending


def test_threads_and_exit_handlers_finish_at_the_end_of_a_command(tmp_path):
    text = "import atexit, sys, threading, time\n"
    text += "def slow():\n    time.sleep(0.1)\n    print('thread', end=' ')\n"
    text += "threading.Thread(target=slow).start()\natexit.register(print, 'function', end=' ')\n"

    for last, ending, words in (("", 0, ""), ("sys.exit(4)", 4, ""), ("sys.exit('trouble')", 1, "trouble\n")):
        run = code(text + last, tmp_path)
        assert (run.returncode, run.stdout, run.stderr) == (ending, "thread function ", words)
    full = "import sys; sys.stdout = open('/dev/full', 'w'); print('text')"
    assert code(full, tmp_path).returncode == 120


def test_output_and_errors_are_separate_and_several_run_at_once(tmp_path):
    text = "import sys, time; print({0}); time.sleep(0.2); print(-{0}, file=sys.stderr)"
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda number: code(text.format(number), tmp_path), range(1, 5)))

    assert [(run.stdout, run.stderr) for run in runs] == [(f"{number}\n", f"-{number}\n") for number in range(1, 5)]


def test_a_command_that_takes_too_long_is_killed(tmp_path):
    code("pass", tmp_path)
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(subprocess.TimeoutExpired):
        code("import time; time.sleep(600)", tmp_path, timeout=0.1)

    assert set(psutil.Process().children(recursive=True)) <= before


def test_an_agent_has_a_session_of_its_own_and_its_environment(home):
    with agent(home) as process:
        assert os.getsid(process.pid) == process.pid
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == process.returncode == 0
        process.kill()  # no process is left to kill


def test_the_settings_are_those_that_a_new_interpreter_reads(tmp_path):
    make_keys(tmp_path)
    changes = {"ROOT_PATH": "/elsewhere", "GATEWALL_LOG_LEVEL": "ERROR", "CACHE_URL": "redis://127.0.0.1:1/0"}
    changes |= {"DATABASE_URL": "postgresql://somebody@127.0.0.1:1/site", "GATEWALL_PUBLIC_URL": "https://gate.example"}
    for each in ({}, changes):
        env = {**environment(tmp_path, **each), "DJANGO_SETTINGS_MODULE": "gatewall.settings", "LC_CTYPE": "C.UTF-8"}
        command = [sys.executable, "-c", WHAT_DEPENDS_ON_THE_INSTALLATION]
        fresh = subprocess.run(command, cwd=BASE, env=env, capture_output=True, text=True, check=True)
        forked = command_server.run([], env=env, code=WHAT_DEPENDS_ON_THE_INSTALLATION, timeout=PATIENCE)

        assert forked.stderr == fresh.stderr
        assert forked.stdout.splitlines() == fresh.stdout.splitlines()
        assert f" {each.get('ROOT_PATH', '/wall')}/schema\n" in forked.stdout


def test_no_module_may_read_the_installation_while_it_is_imported():
    given = WhileImporting(ours, ours)

    assert given.AUTH_USER_MODEL == ours.AUTH_USER_MODEL
    with pytest.raises(RuntimeError, match="GATEWALL_HOME is read while a module is imported"):
        given.GATEWALL_HOME  # noqa: B018 - reading it is what is refused


def test_a_data_plane_is_forked_without_django(tmp_path):
    text = "import sys; raise SystemExit('django.apps' in sys.modules and 'accounts.models' in sys.modules)"

    assert code(text, tmp_path).returncode == 1
    assert command_server.run(["data_plane"], env=environment(tmp_path), code=text, timeout=PATIENCE).returncode == 0
