"""End every session of a restored database, also those that it does not know."""

import time

from django.db import connection

_SINCE = 1_577_836_800  # 2020-01-01: seconds from there fit into 31 bits until 2088


def end_all_sessions(*, compared: bool) -> None:
    """Give all users a session version that no token has, and future users ids that no token names.

    The time is above every version and id that was ever given, also where no database of later is at hand: each
    counts up by one at a time.
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
    """Return the seconds since 2020: more than any session version or user id that was ever given."""
    return int(time.time()) - _SINCE
