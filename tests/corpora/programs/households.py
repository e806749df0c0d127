"""Programs for shared expenses, wikis, source code, printers, boats and packages."""

import json
from pathlib import Path
from typing import Any

from tests.corpora.programs.explore import explore, settle, sign_in
from tests.corpora.programs.session import PASSWORD, USER, Session, segment

_PHP = "mbstring dom xml simplexml xmlreader xmlwriter intl pdo pdo_sqlite sqlite3 fileinfo iconv ctype tokenizer"


def ihatemoney(session: Session) -> None:
    """Projects, members and bills by the interface of its app, and the pages."""
    settings = session.folder / "settings.py"
    settings.write_text(
        f"SQLALCHEMY_DATABASE_URI = 'sqlite:///{session.folder}/budget.db'\nSECRET_KEY = 'recorded'\n"
        "ALLOW_PUBLIC_PROJECT_CREATION = True\nENABLE_CAPTCHA = False\nRATELIMIT_ENABLED = False\n"
    )
    command = [session.python("ihatemoney", "ihatemoney"), "run", "-h", "127.0.0.1", "-p"]
    session.serve(lambda port: [*command, str(port)], IHATEMONEY_SETTINGS_FILE_PATH=str(settings))
    content, auth = session.content, ("flat", PASSWORD)
    made = {"name": content.title(), "id": "flat", "password": PASSWORD, "contact_email": "alice@cloud.example"}
    session.send("POST", "/api/projects", data={**made, "default_currency": "XXX"})
    for _ in range(12):
        session.send("POST", "/api/projects/flat/members", data={"name": content.person(), "weight": 1}, auth=auth)
    for number in range(45):
        bill = {"date": "2026-11-23", "what": content.title(), "payer": number % 12 + 1, "payed_for": [1, 2, 3], "amount": "12.50",
                "external_link": f"https://shop.example/o?id={number}", "bill_type": "Expense"}  # fmt: skip
        session.send("POST", "/api/projects/flat/bills", data=bill, auth=auth)
        if number % 2 == 0:
            session.send(
                "PUT", f"/api/projects/flat/bills/{number + 1}", data={**bill, "what": content.sentence()}, auth=auth
            )
            session.send("GET", f"/api/projects/flat/bills/{number + 1}", auth=auth)
            session.send("GET", "/api/projects/flat/statistics", auth=auth)
    sign_in(session, "/authenticate?project_id=flat", "flat")
    explore(session, "/flat/", requests=120, seconds=60)


def mediawiki(session: Session) -> None:
    """Pages edited in the browser and by the interface that bots use, searches, and the special pages."""
    php, site = _php(session), session.folder / "wiki"
    source = session.deb("mediawiki") / "usr/share/mediawiki"
    session.run("cp", "-r", "--no-preserve=all", f"{source}/.", str(site))
    for name in ("LocalSettings.php", "config", "extensions", "images"):
        session.run("rm", "-rf", str(site / name))
    session.run("ln", "-s", str(source / "extensions-core"), str(site / "extensions"))
    (site / "images").mkdir()
    data = ["--dbtype", "sqlite", "--dbname", "wiki", "--dbpath", str(session.folder), "--scriptpath", ""]
    session.run(*php, str(site / "maintenance/install.php"), *data, "--pass", PASSWORD, "Notes", USER.title())
    session.serve(lambda port: [*php, "-S", f"127.0.0.1:{port}", "-t", str(site)], ready="/index.php")
    with (site / "LocalSettings.php").open("a") as appended:
        appended.write(f'$wgServer = "{session.at}"; $wgEnableUploads = false; $wgRateLimits = [];\n')
    content = session.content

    def call(**fields: Any) -> Any:
        return session.send("POST", "/api.php", data={"format": "json", **fields}).json()

    def token(kind: str) -> str:
        query = {"action": "query", "meta": "tokens", "type": kind, "format": "json"}
        return str(session.send("GET", "/api.php", params=query).json()["query"]["tokens"][f"{kind}token"])

    login = {"action": "login", "lgname": USER.title(), "lgpassword": PASSWORD}
    call(**login, lgtoken=token("login"))
    csrf = token("csrf")
    for number in range(45):
        title = content.title()
        text = f"{{{{Infobox|name={title}|date=2026}}}}\n'''{title}''' is [[note|a ''note'']].<ref>{content.sentence()}</ref>\n\n{content.markdown()}\n\n{{|class=\"wikitable\"\n! a !! b\n|-\n| 1 || {content.sentence()}\n|}}\n<!-- draft -->\n[[Category:Notes]]"
        call(action="edit", title=f"{title} {number}", text=text, summary=content.sentence(), token=csrf)
        if number % 4 == 0:
            call(action="parse", text=text, contentmodel="wikitext", prop="text|links")
        query = {"action": "query", "list": "search", "srsearch": f'intitle:"{title}" -draft', "format": "json"}
        session.send("GET", "/api.php", params=query)
    sign_in(session, "/index.php?title=Special:UserLogin", USER.title())
    page = session.page
    for _ in range(8):
        page.goto(f"{session.at}/index.php?title={segment(content.title())}&action=edit")
        if page.locator("#wpTextbox1").count():
            page.fill("#wpTextbox1", content.markdown())
            page.fill("#wpSummary", content.title())
            page.click("#wpSave")
            settle(page, 1_500)
    explore(session, "/index.php/Special:SpecialPages", requests=120, seconds=60)


def _php(session: Session) -> list[str]:
    base = session.deb("mediawiki")
    extensions = next((base / "usr/lib/php").glob("2*"))
    loaded = [each for name in _PHP.split() for each in ("-d", f"extension={name}.so")]
    return [str(base / "usr/bin/php8.2"), "-n", "-d", f"extension_dir={extensions}", *loaded]


def fossil(session: Session) -> None:
    """A repository with its own client, tickets, wiki and forms in the browser."""
    libraries = next((session.deb("fossil") / "lib").glob("*-linux-gnu"))
    (session.folder / "fossil").write_text(
        f'#!/bin/sh\nLD_LIBRARY_PATH={libraries} exec {session.deb("fossil")}/usr/bin/fossil "$@"\n'
    )
    fossil_ = str(session.folder / "fossil")
    (session.folder / "fossil").chmod(0o755)
    repository, work = str(session.folder / "notes.fossil"), session.folder / "work"
    session.run(fossil_, "init", repository, "--admin-user", USER)
    session.run(fossil_, "user", "password", USER, PASSWORD, "-R", repository)
    session.serve(lambda port: [fossil_, "server", repository, "--localhost", "--port", str(port)])
    content, at = session.content, session.at.replace("//", f"//{USER}:{PASSWORD}@")
    work.mkdir()
    clone = str(session.folder / "clone.fossil")
    session.clients.add("fossil")
    session.run(fossil_, "clone", at, clone)
    session.run("env", "-C", str(work), fossil_, "open", clone)
    for number in range(14):
        name, code = content.code()
        (work / f"{number}-{Path(name).name}").write_text(code)
        session.run("env", "-C", str(work), fossil_, "add", ".")
        session.run("env", "-C", str(work), fossil_, "commit", "--no-warnings", "-m", content.sentence())
        (session.folder / "page.md").write_text(content.markdown())
        session.run(
            "env", "-C", str(work), fossil_, "wiki", "create", f"Page {number}", "../page.md", "-M", "text/x-markdown"
        )
        session.run("env", "-C", str(work), fossil_, "sync")
    sign_in(session, "/login")
    page = session.page
    for number in range(25):
        page.goto(f"{session.at}/tktnew")
        page.fill("[name=title]", content.title())
        page.fill("[name=comment], [name=icomment]", content.comment())
        page.click("[name=preview]")
        settle(page, 1_500)
        if page.locator("[name=submit]").count() and number % 3:
            page.click("[name=submit]")
            settle(page, 1_500)
        page.goto(f"{session.at}/search?s={segment(content.title())}&y=all")
    explore(session, "/sitemap", requests=120, seconds=60)


def octoprint(session: Session) -> None:
    """Uploads, printer profiles, settings and users by its interface, and the page."""
    command, key = session.python("OctoPrint", "octoprint"), "A1B2" * 8
    (session.folder / "config.yaml").write_text(
        f"api:\n  key: {key}\nserver:\n  firstRun: false\n  onlineCheck:\n    enabled: false\nplugins:\n  _disabled: [tracking, softwareupdate]\n"
    )
    base = [command, "--basedir", str(session.folder)]
    session.run(*base, "user", "add", USER, "--password", PASSWORD, "--admin")
    options = ["serve", "--iknowwhatimdoing", "--host", "127.0.0.1", "--port"]
    session.serve(lambda port: [*base, *options, str(port)], ready="/api/version")
    content, login = session.content, {"X-Api-Key": key}
    session.send("POST", "/api/login", json={"user": USER, "pass": PASSWORD, "remember": True})
    for number in range(22):
        lines = "\n".join(f"G1 X{n} Y{n / 2} E0.{n} ; {content.sentence()}" for n in range(12))
        name = f"{number} {content.file_name()}.gcode"
        fields = {"userdata": json.dumps({"note": content.sentence()}), "select": "false"}
        session.send(
            "POST", "/api/files/local", files={"file": (name, f";Generated\n{lines}\n")}, data=fields, headers=login
        )
        folder = {"foldername": content.title(), "path": ""}
        session.send("POST", "/api/files/local", data=folder, headers=login)
        profile = {"id": f"p{number}", "name": content.title(), "model": content.sentence(), "color": "default",
                   "volume": {"formFactor": "rectangular", "width": 200, "depth": 200, "height": 180}}  # fmt: skip
        session.send("POST", "/api/printerprofiles", json={"profile": profile}, headers=login)
        settings = {
            "appearance": {"name": content.title()},
            "scripts": {"gcode": {"afterPrintDone": "M104 S0\n{% if printer_profile.heatedBed %}M140 S0\n{% endif %}"}},
        }
        session.send("POST", "/api/settings", json=settings, headers=login)
        user = {"name": f"bob{number}", "password": PASSWORD, "active": True, "groups": ["users"], "permissions": []}
        session.send("POST", "/api/access/users", json=user, headers=login)
        session.send("GET", "/api/files", params={"recursive": "true", "filter": content.title()}, headers=login)
    session.page.goto(session.at)
    settle(session.page, 10_000)


def signalk(session: Session) -> None:
    """Positions, settings, users and data of apps of a boat's server, and its page."""
    settings = {"interfaces": {}, "ssl": False, "mdns": False, "wsCompression": False, "pipedProviders": []}
    (session.folder / "settings.json").write_text(json.dumps(settings))
    command = session.node("signalk-server", "signalk-server")
    session.serve(lambda _: [command, "-c", str(session.folder)], ready="/signalk", PORT="{port}")
    content = session.content
    user = {"userId": USER, "password": PASSWORD, "type": "admin"}
    session.send("POST", "/skServer/enableSecurity", json=user)
    answer = session.send("POST", "/signalk/v1/auth/login", json={"username": USER, "password": PASSWORD})
    login = {"Authorization": f"JWT {answer.json().get('token', '') if answer.ok else ''}"}
    for number in range(24):
        vessel = {"name": content.title(), "mmsi": "230099999", "draft": "1.8", "length": "12"}
        session.send("PUT", "/skServer/vessel", json=vessel, headers=login)
        data = {"notes": [{"title": content.title(), "text": content.markdown()}], "filter": "depth < 3 && speed > 5"}
        session.send("POST", f"/signalk/v1/applicationData/user/notes/1.{number}", json=data, headers=login)
        patch = [{"op": "add", "path": "/a", "value": content.sentence()}]
        session.send("POST", "/signalk/v1/applicationData/user/notes/1.0", json=patch, headers=login)
        route = {"name": content.title(), "description": content.sentence(), "feature": {"type": "Feature", "properties": {},
                 "geometry": {"type": "LineString", "coordinates": [[24.9, 60.1], [25.0, 60.0]]}}}  # fmt: skip
        session.send("POST", "/signalk/v2/api/resources/routes", json=route, headers=login)
        session.send("PUT", "/signalk/v1/api/vessels/self/steering/autopilot", json={"value": "auto"}, headers=login)
        query = {"bbox": "[24.8,60.0,25.1,60.3]", "q": content.title()}
        session.send("GET", "/signalk/v2/api/resources/routes", params=query, headers=login)
        session.send("GET", "/signalk/v1/api/vessels/self/navigation/position", headers=login)
    session.page.goto(f"{session.at}/admin/")
    settle(session.page, 10_000)


def devpi(session: Session) -> None:
    """Users, indexes, uploads with twine, installations with pip, and the pages with searches."""
    serve, initialize = session.python("devpi-server", "devpi-server"), session.python("devpi-server", "devpi-init")
    data = str(session.folder / "devpi")
    session.run(initialize, "--serverdir", data, "--no-root-pypi")
    session.serve(
        lambda port: [serve, "--serverdir", data, "--host", "127.0.0.1", "--port", str(port)], ready="/+status"
    )
    content, json_ = session.content, {"Accept": "application/json"}
    user = {"password": PASSWORD, "email": "alice@cloud.example", "title": content.title()}
    session.send("PUT", f"/{USER}", json=user, headers=json_)
    answer = session.send("POST", "/+login", json={"user": USER, "password": PASSWORD}, headers=json_)
    secret = answer.json().get("result", {}).get("password", "") if answer.ok else ""
    auth = (USER, secret)
    for number in range(30):
        index = {"bases": [], "type": "stage", "volatile": True, "title": content.title(), "mirror_whitelist": ["*"]}
        session.send("PUT", f"/{USER}/i{number}", json=index, headers=json_, auth=auth)
        changes = [f"title={content.sentence()}", "acl_upload=alice,:ANONYMOUS:"]
        session.send("PATCH", f"/{USER}/i{number}", json=changes, headers=json_, auth=auth)
        fields = {":action": "submit", "name": f"notes{number}", "version": "1.0", "summary": content.title(),
                  "description": content.markdown(), "home_page": "https://notes.example/?a=b", "metadata_version": "2.1"}  # fmt: skip
        session.send("POST", f"/{USER}/i0/", data=fields, auth=auth)
        session.send(
            "GET",
            f"/{USER}/i0/+simple/notes{number}/",
            headers={"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.5"},
        )
        session.send("GET", "/+search", params={"query": content.title()})
    explore(session, "/", requests=60, seconds=40)
