"""Ship a spool to the database of DATABASE_URL as the agent does, and time it: a child of bench.shipping.

python -m bench.ship_once FOLDER
"""

import json
import sys
import time
from pathlib import Path

import django

django.setup()

from django.db import connection  # noqa: E402 - needs Django

from audit.storage import ingest  # noqa: E402 - needs Django


def main(folder: Path) -> None:
    """Ship the folder; print records, seconds and CPU seconds as JSON."""
    connection.ensure_connection()
    began, cpu = time.perf_counter(), time.process_time()
    shipped = ingest.ship(folder)
    result = {"records": shipped, "seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}
    print(json.dumps(result))  # noqa: T201 - a command


if __name__ == "__main__":
    main(Path(sys.argv[1]))
