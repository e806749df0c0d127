"""End every session of a restored database, also sessions that were created after the backup."""

import time

from django.db import connection

_SINCE = 1_577_836_800  # 2020-01-01: seconds from there fit into 31 bits until 2088


def end_all_sessions(*, compared: bool) -> None:
    """Give all users a session version that no token has, so that every token of theirs ends.

    The version comes from the time. It is above every version that was ever given, because versions count up by one,
    and so works without the database that is replaced.
    """
    unused = unused_number()
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(max(session_version), 0) FROM accounts_user")
        highest = [unused, cursor.fetchone()[0]]
        if compared:
            cursor.execute("SELECT coalesce(max(session_version), 0) FROM present_user")
            highest.append(cursor.fetchone()[0])
        cursor.execute("UPDATE accounts_user SET session_version = %s", [max(highest) + 1])


def unused_number() -> int:
    """Return the seconds since 2020, a number above every session version and user id that was ever given."""
    return int(time.time()) - _SINCE
