"""An installation on PostgreSQL, made once for all processes and runs: its home and its cluster are copied."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.postgres import FAST, Server, server
from tests.support.processes import set_up
from tests.support.templates import folder_of


@contextmanager
def prepared_on_postgresql(home: Path, options: Sequence[str] = FAST) -> Iterator[Server]:
    """Prepare `home` like bin/up, with a PostgreSQL started with these options; yield the server."""
    made = folder_of("installation-on-postgresql", _make)
    shutil.copytree(made / "home", home, dirs_exist_ok=True)
    with server(options, cluster=made / "cluster") as running:
        yield running


def _make(folder: Path) -> None:
    (folder / "home").mkdir(mode=0o700)
    with server() as running:
        set_up(folder / "home", DATABASE_URL=running.url)
        running.keep(folder / "cluster")
