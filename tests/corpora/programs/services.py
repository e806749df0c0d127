"""Programs for comments, chat, storage and music, used by their interfaces."""

import json
from typing import Any

from tests.corpora.programs.explore import explore, settle
from tests.corpora.programs.session import PASSWORD, USER, Session, segment

_CLIENT = "/_matrix/client/v3"


def isso(session: Session) -> None:
    """Comments below a page, as its script sends them."""
    config = session.folder / "isso.cfg"
    command = session.python("isso", "isso")

    def started(port: int) -> list[str]:
        config.write_text(
            f"[general]\ndbpath = {session.folder}/comments.db\nhost = http://cloud.example/\n"
            f"[server]\nlisten = http://127.0.0.1:{port}\n[guard]\nenabled = false\n[admin]\nenabled = true\npassword = {PASSWORD}\n"
        )
        return [command, "-c", str(config), "run"]

    session.serve(started, ready="/js/embed.min.js")
    content, headers = session.content, {"Origin": "http://cloud.example", "Referer": "http://cloud.example/"}
    for number in range(45):
        page = f"/{segment(content.title())}/"
        comment = {"author": content.person(), "email": "bob@cloud.example", "website": "https://bob.example/", "text": content.comment(),
                   "parent": None, "title": content.title(), "notification": 0}  # fmt: skip
        made = session.send("POST", "/new", params={"uri": page}, json=comment, headers=headers)
        session.send(
            "GET", "/", params={"uri": page, "nested_limit": 5, "limit": "inf", "order": "asc"}, headers=headers
        )
        session.send("POST", "/preview", json={"text": content.comment()}, headers=headers)
        session.send("POST", "/count", json=[page, "/"], headers=headers)
        if number % 3 == 0 and made.ok:
            edited = {"text": content.comment(), "author": content.person()}
            session.send("PUT", f"/id/{made.json()['id']}", json=edited, headers=headers)
            session.send("POST", f"/id/{made.json()['id']}/like", headers=headers)
    session.page.goto(f"{session.at}/admin/")
    session.page.fill("input[type=password]", PASSWORD)
    session.page.press("input[type=password]", "Enter")
    settle(session.page)
    explore(session, "/admin/", requests=30, seconds=30)


def supysonic(session: Session) -> None:
    """The interface of Subsonic as music players use it, and the web page."""
    database = f"sqlite:///{session.folder}/supysonic.db"
    (session.folder / ".supysonic").write_text(f"[base]\ndatabase_uri = {database}\n[webapp]\nlog_level = WARNING\n")
    music = session.folder / "music"
    for number, name in enumerate(session.file_names()[:20]):
        (music / f"{session.content.person().replace('/', ' ')}").mkdir(parents=True, exist_ok=True)
        (music / f"{number} {name}.mp3").write_bytes(b"ID3")
    cli = session.python("supysonic", "supysonic-cli")
    for arguments in (
        ["user", "add", USER, "-p", PASSWORD],
        ["user", "setroles", "-A", USER],
        ["folder", "add", "Music", str(music)],
    ):
        session.run(cli, *arguments)
    session.serve(lambda port: [session.python("supysonic", "supysonic-server"), "-h", "127.0.0.1", "-p", str(port)])
    content, login = session.content, {"u": USER, "p": PASSWORD, "v": "1.12.0", "c": "DSub", "f": "json"}
    for number in range(22):
        session.send("GET", "/rest/search3.view", params={**login, "query": content.title(), "artistCount": 20})
        session.send("POST", "/rest/createPlaylist.view", data={**login, "name": content.title()})
        session.send("POST", "/rest/addChatMessage.view", data={**login, "message": content.sentence()})
        stream = {
            "name": content.title(),
            "streamUrl": "https://radio.example/a;b.mp3",
            "homepageUrl": "https://radio.example/",
        }
        session.send("GET", "/rest/createInternetRadioStation.view", params={**login, **stream})
        session.send(
            "GET", "/rest/getLyrics.view", params={**login, "artist": content.person(), "title": content.title()}
        )
        session.send(
            "GET", "/rest/getAlbumList2.view", params={**login, "type": "newest", "size": 10, "offset": number * 10}
        )
    page = session.page
    page.goto(f"{session.at}/user/login")
    page.fill("[name=user]", USER)
    page.fill("[name=password]", PASSWORD)
    page.press("[name=password]", "Enter")
    settle(page)
    explore(session, "/", requests=60, seconds=50)


def kinto(session: Session) -> None:
    """Records with JSON patches, filters and batches."""
    config, kinto_ = session.folder / "kinto.ini", session.python("kinto", "kinto")
    session.run(kinto_, "init", "--ini", str(config), "--backend", "memory", "--cache-backend", "memory")
    plugins = "kinto.includes = kinto.plugins.accounts kinto.plugins.default_bucket\n#"
    config.write_text(config.read_text().replace("kinto.includes = ", plugins))
    session.serve(lambda port: [kinto_, "start", "--ini", str(config), "--port", str(port)], ready="/v1/")
    content, auth = session.content, (USER, PASSWORD)
    session.send("PUT", f"/v1/accounts/{USER}", json={"data": {"password": PASSWORD}})
    at = "/v1/buckets/default/collections/notes/records"
    for number in range(40):
        data: dict[str, Any] = {"title": content.title(), "text": content.comment(), "rank": number}
        data["tags"] = [content.one_of("home", "work", "R&D")]
        readers = {"read": ["system.Everyone"]}
        made = session.send("POST", at, json={"data": data, "permissions": readers}, auth=auth)
        query: dict[str, Any] = {"title": content.title(), "min_rank": 2, "_sort": "-last_modified", "_limit": 5}
        session.send("GET", at, params=query, auth=auth)
        query = {"like_title": content.title().split()[0], "_fields": "title,rank"}
        session.send("GET", at, params=query, auth=auth)
        if made.ok:
            patch = json.dumps([{"op": "replace", "path": "/data/text", "value": content.markdown()}])
            kind = {"Content-Type": "application/json-patch+json"}
            session.send("PATCH", f"{at}/{made.json()['data']['id']}", data=patch, auth=auth, headers=kind)
    pages = [{"body": {"data": {"text": content.page()}}} for _ in range(5)]
    batch = {"defaults": {"method": "POST", "path": at}, "requests": pages}
    session.send("POST", "/v1/batch", json=batch, auth=auth)


def synapse(session: Session) -> None:
    """Rooms, messages in Markdown and HTML, files, search and synchronization as chat clients do them."""
    _start_synapse(session)
    content = session.content
    account: dict[str, Any] = {"username": USER, "password": PASSWORD, "auth": {"type": "m.login.dummy"}}
    account["initial_device_display_name"] = "Element Desktop: Linux"
    token = session.send("POST", f"{_CLIENT}/register", json=account).json()["access_token"]
    login = {"Authorization": f"Bearer {token}"}
    profile = f"{_CLIENT}/profile/@{USER}:cloud.example/displayname"
    session.send("PUT", profile, json={"displayname": content.person()}, headers=login)
    rooms = []
    for _ in range(4):
        room = {"name": content.title(), "topic": content.sentence(), "preset": "private_chat", "visibility": "private"}
        made = session.send("POST", f"{_CLIENT}/createRoom", json=room, headers=login)
        rooms.append(f"{_CLIENT}/rooms/{segment(made.json()['room_id'])}")
    for number in range(70):
        _chat(session, rooms[number % 4], number, login)
    shown = {
        "room": {"timeline": {"limit": 20}, "state": {"lazy_load_members": True}},
        "presence": {"not_types": ["*"]},
    }
    session.send("GET", f"{_CLIENT}/sync", params={"filter": json.dumps(shown), "timeout": 0}, headers=login)
    for path in rooms:
        session.send("GET", f"{path}/messages", params={"dir": "b", "limit": 50}, headers=login)
        session.send("GET", f"{path}/members", params={"not_membership": "leave"}, headers=login)
        session.send("PUT", f"{path}/state/m.room.topic", json={"topic": content.sentence()}, headers=login)
        session.send("GET", f"{path}/state/m.room.topic/", headers=login)
        session.send("GET", f"{path}/aliases", headers=login)
    for _ in range(12):
        alias = segment(f"#{content.title().replace(':', ' ')}:cloud.example")
        session.send("GET", f"{_CLIENT}/directory/room/{alias}", headers=login)
    for path in (
        "/versions",
        "/v3/capabilities",
        "/v3/pushrules/",
        "/v3/devices",
        "/v3/voip/turnServer",
        "/v3/account/whoami",
    ):
        session.send("GET", f"/_matrix/client{path}", headers=login)


def _start_synapse(session: Session) -> None:
    python, path = session.python("matrix-synapse"), session.folder / "homeserver.yaml"
    run = [python, "-m", "synapse.app.homeserver", "-c", str(path)]
    session.run(*run, "--generate-config", "-H", "cloud.example", "--report-stats=no")

    def started(port: int) -> list[str]:
        text = path.read_text().replace("port: 8008", f"port: {port}")
        open_to_all = "enable_registration: true\nenable_registration_without_verification: true\n"
        path.write_text(f"{text}\n{open_to_all}rc_message: {{per_second: 1000, burst_count: 1000}}\n")
        return run

    session.serve(started, ready="/health")


def _chat(session: Session, room: str, number: int, login: dict[str, str]) -> None:
    content = session.content
    message = {"msgtype": "m.text", "body": content.comment(), "format": "org.matrix.custom.html"}
    message["formatted_body"] = content.page()
    sent = session.send("PUT", f"{room}/send/m.room.message/m{number}", json=message, headers=login).json()["event_id"]
    if number % 3 == 0:
        related = {"rel_type": "m.annotation", "event_id": sent, "key": content.one_of("👍", "❤️", "it's ok")}
        session.send("PUT", f"{room}/send/m.reaction/r{number}", json={"m.relates_to": related}, headers=login)
        session.send("GET", f"{room}/context/{segment(sent)}", params={"limit": 10}, headers=login)
        session.send("POST", f"{room}/read_markers", json={"m.fully_read": sent, "m.read": sent}, headers=login)
    typing = {"typing": True, "timeout": 30_000}
    session.send("PUT", f"{room}/typing/@{USER}:cloud.example", json=typing, headers=login)
    if number % 5 == 0:
        search = {"search_categories": {"room_events": {"search_term": content.title(), "order_by": "recent"}}}
        session.send("POST", f"{_CLIENT}/search", json=search, headers=login)
        kind = {**login, "Content-Type": "image/png"}
        name = {"filename": content.file_name()}
        session.send("POST", "/_matrix/media/v3/upload", params=name, data=content.data(800), headers=kind)
