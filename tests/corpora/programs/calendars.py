"""Radicale and Xandikos, with the client library caldav, Python's vobject and curl."""

import json
from datetime import UTC, datetime, timedelta

from tests.corpora.programs.explore import explore, sign_in
from tests.corpora.programs.session import PASSWORD, USER, Session

_CLIENT = """
import json, sys
from datetime import datetime
import caldav
asked = json.load(sys.stdin)
client = caldav.DAVClient(url=asked["url"], username=asked["user"], password=asked["password"])
principal = client.principal()
def tried(call, *args, **named):
    try:
        return call(*args, **named)
    except Exception as error:  # what a server refuses was sent all the same, and that is recorded
        print(type(error).__name__, error)
calendars = [tried(principal.make_calendar, name=each["title"]) for each in asked["calendars"]]
tried(principal.calendars)
for number, each in enumerate(asked["events"]):
    calendar = calendars[number % len(calendars)]
    if calendar is None:
        continue
    start, end = datetime.fromisoformat(each["start"]), datetime.fromisoformat(each["end"])
    if number % 5 == 4:
        made = tried(calendar.save_todo, summary=each["title"], description=each["text"], due=end)
    else:
        made = tried(calendar.save_event, dtstart=start, dtend=end, summary=each["title"], description=each["text"],
                     location=each["place"], rrule={"FREQ": "WEEKLY"} if number % 3 == 0 else {})
    if made is not None and number % 4 == 0:
        tried(made.load)
        made.icalendar_component["summary"] = each["place"]
        tried(made.save)
    if made is not None and number % 7 == 6:
        tried(made.delete)
for calendar in filter(None, calendars):
    tried(calendar.search, start=datetime(2026, 11, 1), end=datetime(2027, 1, 1), event=True, expand=False)
    tried(calendar.search, todo=True)
    tried(calendar.search, summary=asked["words"][0])
    tried(calendar.events)
    token = tried(calendar.objects_by_sync_token, load_objects=True)
    tried(calendar.objects_by_sync_token)
    tried(calendar.get_properties, [caldav.elements.dav.DisplayName()])
    tried(calendar.set_properties, [caldav.elements.dav.DisplayName(asked["words"][1])])
    tried(calendar.freebusy_request, datetime(2026, 11, 1), datetime(2027, 1, 1))
"""
_CARD = (
    "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{name}\r\nN:{name};;;;\r\nEMAIL;TYPE=HOME:alice@cloud.example\r\n"
    "NOTE:{note}\r\nURL:https://cloud.example/\r\nEND:VCARD\r\n"
)
_MAKE_BOOK = (
    '<?xml version="1.0" encoding="utf-8"?><D:mkcol xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:carddav"><D:set><D:prop>'
    "<D:resourcetype><D:collection/><C:addressbook/></D:resourcetype><D:displayname>{name}</D:displayname></D:prop></D:set></D:mkcol>"
)


def radicale(session: Session) -> None:
    """Calendars, tasks and contacts; the program's own web page."""
    users = session.folder / "users"
    users.write_text(f"{USER}:{PASSWORD}\n")
    options = [
        "--auth-type", "htpasswd", "--auth-htpasswd-filename", str(users), "--auth-htpasswd-encryption", "plain",
        "--storage-filesystem-folder", str(session.folder / "collections"),
    ]  # fmt: skip
    command = session.python("radicale", "radicale")
    session.serve(lambda port: [command, "--server-hosts", f"127.0.0.1:{port}", *options])
    _calendars(session, "/")
    _contacts(session, f"/{USER}/contacts/", user=True)
    sign_in(session, "/.web/")
    explore(session, "/.web/", requests=20, seconds=30)


def xandikos(session: Session) -> None:
    """Calendars, tasks and contacts."""
    command = session.python("xandikos", "xandikos")
    data = str(session.folder / "dav")
    session.serve(
        lambda port: [command, "-l", "127.0.0.1", "-p", str(port), "-d", data, "--defaults",
                      "--current-user-principal", f"/{USER}/"]
    )  # fmt: skip
    _calendars(session, "/")
    _contacts(session, f"/{USER}/contacts/addressbook/", user=False)


def _calendars(session: Session, path: str) -> None:
    content, day = session.content, datetime(2026, 12, 1, 9, tzinfo=UTC)
    events = [
        {
            "title": content.title(), "text": content.comment(), "place": content.person(),
            "start": (day + timedelta(days=each)).isoformat(), "end": (day + timedelta(days=each, hours=1)).isoformat(),
        }
        for each in range(45)
    ]  # fmt: skip
    asked = {
        "url": session.at + path, "user": USER, "password": PASSWORD, "events": events,
        "calendars": [{"title": content.title()} for _ in range(4)], "words": [content.person(), content.title()],
    }  # fmt: skip
    print(session.run(session.python("clients"), "-c", _CLIENT, stdin=json.dumps(asked))[-400:])


def _contacts(session: Session, book: str, *, user: bool) -> None:
    xml = "Content-Type: application/xml; charset=utf-8"
    content = session.content
    session.curl("-X", "MKCOL", "-H", xml, "-d", _MAKE_BOOK.format(name="Family &amp; Friends"), book, auth=user)
    for _ in range(25):
        uid = content.id()
        card = _CARD.format(uid=uid, name=content.person(), note=content.sentence())
        kind = ("-H", "Content-Type: text/vcard; charset=utf-8")
        session.curl("-X", "PUT", "--data-binary", card, *kind, f"{book}{uid}.vcf", auth=user)
        session.curl(f"{book}{uid}.vcf", auth=user)
