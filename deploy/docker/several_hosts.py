"""Check that several hosts can share the database of DATABASE_URL; exit with 2 and a message if not."""

import os
import sys
from pathlib import Path

BASE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(BASE))

from gatewall.kernel import env  # noqa: E402 - found by the path above


def main() -> int:
    """Return 0 if hosts can share the database, 2 if not or if the environment is invalid."""
    try:
        config = env.read(os.environ, BASE)
    except env.ConfigError as error:
        print(f"gatewall: {error}", file=sys.stderr)  # noqa: T201 - a command
        return 2
    if config.database["ENGINE"] == "gatewall.database.sqlite":
        words = "DATABASE_URL must be postgresql://...: each pod would have an SQLite file of its own"
        print(f"gatewall: {words}", file=sys.stderr)  # noqa: T201 - a command
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
