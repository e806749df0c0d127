"""Programs with pages: a browser signs in, follows their links and fills in their forms."""

import json
from contextlib import suppress

from playwright.sync_api import Error

from tests.corpora.programs.explore import explore, settle, sign_in
from tests.corpora.programs.session import PASSWORD, USER, Session, segment

_LABELS = (
    '<View><Text name="text" value="$text"/><Choices name="kind" toName="text" choice="single">'
    '<Choice value="Good"/><Choice value="Bad"/></Choices></View>'
)


def trac(session: Session) -> None:
    """Tickets, wiki pages, searches and settings of a project."""
    admin = session.python("trac", "trac-admin")
    session.run(admin, "project", "initenv", "Notes", "sqlite:db/trac.db")
    for what in ("WIKI_ADMIN", "TICKET_ADMIN", "MILESTONE_ADMIN", "REPORT_ADMIN", "TRAC_ADMIN"):
        session.run(admin, "project", "permission", "add", "anonymous", what)
    session.serve(lambda port: [session.python("trac", "tracd"), "-b", "127.0.0.1", "-p", str(port), "-s", "project"])
    page, content = session.page, session.content
    for number in range(22):
        page.goto(f"{session.at}/newticket")
        page.fill("#field-summary", content.title())
        page.fill("#field-description", content.comment())
        page.click("[name=preview]" if number % 4 == 0 else "[name=submit]")
        settle(page, 1_500)
        page.goto(f"{session.at}/wiki/{segment(content.title().replace('/', ' '))}?action=edit")
        if page.locator("#text").count():
            page.fill("#text", content.markdown())
            page.click("[name=save]")
            settle(page, 1_500)
        page.goto(f"{session.at}/search?q={segment(content.title())}")
    explore(session, "/admin", requests=260, seconds=100)


def jupyterlab(session: Session) -> None:
    """Notebooks and source files written by the interface that the editor uses, the editor, and a kernel."""
    command, token = session.python("jupyterlab", "jupyter-lab"), "a1" * 24
    options = ["--allow-root", "--no-browser", "--ip=127.0.0.1", f"--IdentityProvider.token={token}"]
    options.append("--ServerApp.disable_check_xsrf=True")
    session.serve(lambda port: [command, f"--port={port}", *options], ready="/api")
    login = {"Authorization": f"token {token}"}
    session.page.goto(f"{session.at}/lab?token={token}")
    settle(session.page, 15_000)
    for number in range(34):
        _write_notebook(session, number, login)
    started = {"path": "a.ipynb", "type": "notebook", "name": "", "kernel": {"name": "python3"}}
    kernel = session.send("POST", "/api/sessions", json=started, headers=login)
    session.send("DELETE", f"/api/sessions/{kernel.json().get('id', '')}", headers=login)
    session.page.goto(f"{session.at}/tree?token={token}")
    settle(session.page, 10_000)


def _write_notebook(session: Session, number: int, login: dict[str, str]) -> None:
    content = session.content
    name, code = content.code()
    commands = "!ls -la data\n%timeit sum(range(10))\ndf.query('a > 1 and b == \"x\"').head()"
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": content.markdown()},
        {"cell_type": "code", "metadata": {}, "source": code, "outputs": [], "execution_count": None},
        {"cell_type": "code", "metadata": {}, "source": commands, "outputs": [], "execution_count": 1},
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    path = f"/api/contents/{segment(content.title().replace('/', '-'))}-{number}.ipynb"
    session.send("PUT", path, json={"type": "notebook", "format": "json", "content": notebook}, headers=login)
    path = f"/api/contents/{number}-{segment(name)}"
    session.send("PUT", path, json={"type": "file", "format": "text", "content": code}, headers=login)
    session.send("PATCH", path, json={"path": f"{number} {content.file_name()}"}, headers=login)
    listed = {"type": "directory", "content": 1, "format": "json"}
    session.send("GET", "/api/contents/", params=listed, headers=login)


def datasette(session: Session) -> None:
    """Tables with filters, facets and searches, and queries written in SQL."""
    script = (
        "import sqlite3; db = sqlite3.connect('library.db'); "
        "db.execute('create table books (id integer primary key, title text, author text, year int)'); "
        "db.executemany('insert into books values (?, ?, ?, ?)', [(n, f'Book {n}', 'A', 1900 + n) for n in range(300)]); db.commit()"
    )
    session.run(session.python("datasette"), "-c", script)
    command = session.python("datasette", "datasette")
    session.serve(lambda port: [command, "serve", "library.db", "-h", "127.0.0.1", "-p", str(port)])
    content, page = session.content, session.page
    for number in range(60):
        query = f"title__contains={segment(content.title())}&year__gt={1900 + number}&_sort_desc=year&_facet=author"
        page.goto(f"{session.at}/library/books?{query}")
        session.send(
            "GET", "/library/books.json", params={"author__exact": content.person(), "_shape": "array", "_size": 5}
        )
    for sql in (
        "select * from books",
        "select title, year from books where year > :year order by year limit 10",
        "select count(*) from books",
    ):
        page.goto(f"{session.at}/library?sql={segment(sql)}&year=1950")
    explore(session, "/", requests=160, seconds=60)


def changedetection(session: Session) -> None:
    """Watches with filters and notifications, by the interface and in the browser."""
    command = session.python("changedetection-io", "changedetection.io")
    session.serve(lambda port: [command, "-h", "127.0.0.1", "-p", str(port), "-d", str(session.folder / "data"), "-C"])
    data = json.loads(next((session.folder / "data").glob("*.json")).read_text())
    login, content = {"x-api-key": data["settings"]["application"]["api_access_token"]}, session.content
    for number in range(40):
        watch = {"url": f"https://shop.example/item/{number}?ref=a&b[]=1", "title": content.title(), "paused": True,
                 "include_filters": [content.one_of("div.price > span", "//*[@id='price']/text()", "xpath://ul/li[contains(., 'Total')]", "json:$.offers[0].price")],
                 "ignore_text": [content.sentence(), "/[0-9]+ views/i"], "notification_body": "{{watch_title}} changed:\n{{diff}}"}  # fmt: skip
        made = session.send("POST", "/api/v1/watch", json=watch, headers=login)
        if made.ok:
            session.send(
                "PUT",
                f"/api/v1/watch/{made.json()['uuid']}",
                json={"title": content.title(), "headers": {"Cookie": "a=b"}},
                headers=login,
            )
        session.send("GET", "/api/v1/search", params={"q": content.title()}, headers=login)
        session.send("POST", "/api/v1/tag", json={"title": content.title()}, headers=login)
    explore(session, "/", requests=200, seconds=90, avoid=("checknow", "clear"))


_LIBRARY = """
import sqlite3, sys, uuid
sys.path.insert(0, sys.argv[1])
from sqlalchemy import create_engine
from sqlalchemy.orm import Session
from cps import db
engine = create_engine("sqlite:///library/metadata.db").execution_options(schema_translate_map={"calibre": None})
db.Base.metadata.create_all(engine)
with Session(engine) as session:
    session.add(db.Library_Id(uuid=str(uuid.uuid4())))
    session.commit()
with sqlite3.connect("app.db") as settings:
    changes = "config_calibre_dir = ?, config_port = ?, config_uploading = 1"
    settings.execute(f"update settings set {changes}", sys.argv[2:])
"""
"""Create an empty library, which the program leaves to Calibre, from its own models; allow uploads."""


def calibre_web(session: Session) -> None:
    """Uploads, descriptions, searches, shelves and settings of a library of books, and its catalog for readers (OPDS)."""
    library, app = session.folder / "library", str(session.folder / "app.db")
    library.mkdir()
    command = session.python("calibreweb", "cps")
    session.run(command, "-p", app, "-s", f"admin:{PASSWORD}")
    package = next((session.programs / "py" / "calibreweb" / "lib").glob("*/site-packages/calibreweb"))

    def started(port: int) -> list[str]:
        session.run(session.python("calibreweb"), "-c", _LIBRARY, str(package), str(library), str(port))
        return [command, "-p", app, "-i", "127.0.0.1"]

    session.serve(started)
    page, content = session.page, session.content
    sign_in(session, "/login", "admin", PASSWORD)
    page.wait_for_url(lambda url: "/login" not in url, timeout=200_000, wait_until="commit")
    for number in range(24):
        with suppress(Error):  # its script may lead elsewhere meanwhile
            _add_book(session, number)
    login = ("admin", PASSWORD)
    for _ in range(12):
        title = content.title()
        session.send("GET", f"/opds/search/{segment(title)}", auth=login)
        session.send("GET", "/opds/search", params={"query": content.person()}, auth=login)
        page.goto(f"{session.at}/search?query={segment(title)}")
    for path in ("", "/osd", "/books/letter/00", "/new", "/hot", "/author/letter/00", "/category", "/shelfindex"):
        session.send("GET", f"/opds{path}", params={"offset": 0}, auth=login)
    explore(session, "/", requests=250, seconds=90)


def _add_book(session: Session, number: int) -> None:
    """Upload a book, describe it, and put it on a shelf of its own."""
    page, content = session.page, session.content
    name = content.file_name().rpartition(".")[0].replace("/", " ") or "book"
    book = session.folder / f"{name} {number}.txt"
    book.write_text(content.markdown())
    page.goto(session.at)
    page.set_input_files("#btn-upload", book)
    settle(page)
    page.goto(f"{session.at}/admin/book/{number + 1}")
    if not page.locator("#title").count():
        return
    page.fill("#title", content.title())
    page.fill("#authors", content.person())
    page.evaluate(
        "text => { window.tinymce?.remove(); document.querySelector('#comments').value = text }", content.page()
    )
    page.evaluate("document.querySelector('#book_edit_frm').requestSubmit()")
    settle(page, 2_000)
    page.goto(f"{session.at}/shelf/create")
    page.fill("[name=title]", content.title())
    page.press("[name=title]", "Enter")
    settle(page, 2_000)


def wagtail(session: Session) -> None:
    """Pages, snippets, images and users in the editor's pages."""
    python = session.python("wagtail")
    session.run(session.python("wagtail", "wagtail"), "start", "site1", ".")
    session.run(python, "manage.py", "migrate")
    session.run(
        python,
        "manage.py",
        "createsuperuser",
        "--noinput",
        "--username",
        USER,
        "--email",
        "alice@cloud.example",
        DJANGO_SUPERUSER_PASSWORD=PASSWORD,
    )
    session.serve(lambda port: [python, "manage.py", "runserver", "--noreload", f"127.0.0.1:{port}"])
    sign_in(session, "/admin/login/")
    content, page = session.content, session.page
    for _ in range(20):
        page.goto(f"{session.at}/admin/pages/add/home/homepage/3/")
        page.fill("#id_title", content.title())
        page.click("[type=submit]:visible >> nth=0")
        settle(page, 2_000)
        page.goto(f"{session.at}/admin/pages/search/?q={segment(content.title())}")
    explore(session, "/admin/", requests=260, seconds=110)
    explore(session, "/django-admin/", requests=120, seconds=60)


def label_studio(session: Session) -> None:
    """Projects with labeling configurations in XML, tasks, and annotations, by the interface and in the browser."""
    command, email = session.python("label-studio", "label-studio"), "alice@cloud.example"
    options = ["--no-browser", "--data-dir", str(session.folder / "data"), "--username", email, "--password", PASSWORD]
    start = [command, "start", "--internal-host", "127.0.0.1", *options]
    session.serve(lambda port: [*start, "-p", str(port)], ready="/health", COLLECT_ANALYTICS="0")
    session.send("GET", "/user/login/")
    login = {"X-CSRFToken": str(session.http.cookies["csrftoken"]), "Referer": session.at}
    session.send("POST", "/user/login/", data={"email": email, "password": PASSWORD}, headers=login)
    login["X-CSRFToken"] = str(session.http.cookies["csrftoken"])
    for each in session.http.cookies:
        session.page.context.add_cookies([{"name": each.name, "value": str(each.value), "url": session.at}])
    for _ in range(20):
        _label(session, login)
    explore(session, "/projects/", requests=200, seconds=80)


def _label(session: Session, login: dict[str, str]) -> None:
    content = session.content
    project = {"title": content.title()[:50], "description": content.comment(), "label_config": _LABELS}
    made = session.send("POST", "/api/projects", json={**project, "expert_instruction": content.page()}, headers=login)
    number = made.json()["id"]
    tasks = [{"data": {"text": content.comment()}} for _ in range(4)]
    session.send("POST", f"/api/projects/{number}/import", json=tasks, headers=login)
    result = [{"from_name": "kind", "to_name": "text", "type": "choices", "value": {"choices": ["Good"]}}]
    listed = session.send("GET", "/api/tasks", params={"project": number, "page_size": 5}, headers=login).json()
    for task in listed["tasks"][:2]:
        annotation = {"result": result, "lead_time": 3.2}
        session.send("POST", f"/api/tasks/{task['id']}/annotations/", json=annotation, headers=login)
