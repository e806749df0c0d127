"""Programs for experiments, monitoring, flows and notes, used by their interfaces and their pages."""

import json
from typing import Any

from tests.corpora.programs.explore import explore, settle
from tests.corpora.programs.session import Session, segment


def mlflow(session: Session) -> None:
    """Experiments with runs, parameters, notes and searches, by the interface and in the browser."""
    database, artifacts = f"sqlite:///{session.folder}/mlflow.db", str(session.folder / "artifacts")
    options = ["--backend-store-uri", database, "--artifacts-destination", artifacts, "--workers", "1"]
    command = [session.python("mlflow", "mlflow"), "server", "-h", "127.0.0.1", "--allowed-hosts", "*", *options]
    session.serve(lambda port: [*command, "-p", str(port)], ready="/health")
    content = session.content

    def call(what: str, **fields: Any) -> Any:
        return session.send("POST", f"/api/2.0/mlflow/{what}", json=fields).json()

    for number in range(22):
        note = {"key": "mlflow.note.content", "value": content.markdown()}
        experiment = call("experiments/create", name=f"{content.title()} {number}", tags=[note]).get(
            "experiment_id", "0"
        )
        run = call("runs/create", experiment_id=experiment, run_name=content.title(), start_time=1_764_000_000_000)
        run_id = run.get("run", {}).get("info", {}).get("run_id", "")
        call("runs/log-parameter", run_id=run_id, key="optimizer", value="adam(lr=1e-3, betas=(0.9, 0.999))")
        call("runs/set-tag", run_id=run_id, key="mlflow.source.name", value=content.code()[0])
        wanted = "metrics.rmse < 1 and params.model = 'tree' and tags.env != 'x'"
        call("runs/search", experiment_ids=[experiment], filter=wanted, order_by=["metrics.rmse DESC"])
    explore(session, "/", requests=120, seconds=60)


def glances(session: Session) -> None:
    """The page of the monitor and its interface."""
    session.serve(
        lambda port: [
            session.python("glances", "glances"),
            "-w",
            "-B",
            "127.0.0.1",
            "-p",
            str(port),
            "--disable-autodiscover",
        ],
        ready="/status",
    )
    session.page.goto(session.at)
    settle(session.page, 9_000)
    for plugin in session.send("GET", "/api/4/pluginslist").json():
        for path in (plugin, f"{plugin}/history/3", f"{plugin}/limits", f"{plugin}/views"):
            session.send("GET", f"/api/4/{path}")
    for name in ("python", "chromium", "Web Content", "kworker/0:1"):
        session.send("POST", f"/api/4/processes/extended/{segment(name)}")


def node_red(session: Session) -> None:
    """Flows with functions, templates and comments, deployed by the editor's interface, and the editor itself."""
    command = session.node("node-red", "node-red")
    session.serve(lambda port: [command, "-p", str(port), "-u", str(session.folder), "-D", "uiHost=127.0.0.1"])
    content = session.content
    session.page.goto(session.at)
    settle(session.page, 10_000)
    headers = {"Node-RED-API-Version": "v2", "Node-RED-Deployment-Type": "full"}
    for number in range(50):
        tab = {"id": f"tab{number}", "type": "tab", "label": content.title(), "info": content.markdown()}
        code = f"// {content.sentence()}\nconst text = msg.payload.trim();\nmsg.payload = text.split(',').map(Number).filter(n => n > {number});\nreturn msg;"
        nodes = [
            {"id": f"a{number}", "type": "inject", "z": tab["id"], "name": content.title(), "crontab": "*/5 * * * *", "wires": [[f"b{number}"]]},
            {"id": f"b{number}", "type": "function", "z": tab["id"], "name": content.title(), "func": code, "outputs": 1, "wires": [[f"c{number}"]]},
            {"id": f"c{number}", "type": "template", "z": tab["id"], "template": "<h1>{{payload.title}}</h1>\n<p>{{{payload.text}}}</p>", "syntax": "mustache", "wires": [[f"d{number}"]]},
            {"id": f"d{number}", "type": "http request", "z": tab["id"], "method": "GET", "url": "http://192.168.1.20:8123/api/states", "wires": [[]]},
            {"id": f"e{number}", "type": "comment", "z": tab["id"], "name": content.title(), "info": content.comment()},
        ]  # fmt: skip
        revision = session.send("GET", "/flows", headers=headers).json()["rev"]
        session.send("POST", "/flows", json={"flows": [tab, *nodes], "rev": revision}, headers=headers)
        session.send("GET", f"/nodes/node-red/{content.one_of('function', 'template', 'http', 'mqtt')}")
    session.page.reload()
    settle(session.page, 10_000)


def tiddlywiki(session: Session) -> None:
    """Notes written in the browser, and by the interface that its script uses."""
    command = session.node("tiddlywiki", "tiddlywiki")
    session.run(command, "wiki", "--init", "server")
    session.serve(lambda port: [command, "wiki", "--listen", f"port={port}", "host=127.0.0.1"])
    content, page = session.content, session.page
    page.goto(session.at)
    settle(page)
    headers = {"X-Requested-With": "TiddlyWiki", "Content-Type": "application/json"}
    for _ in range(70):
        title = content.title()
        fields = {
            "title": title,
            "text": content.comment(),
            "type": "text/vnd.tiddlywiki",
            "tags": "[[to do]] home",
            "creator": content.person(),
        }
        session.send(
            "PUT",
            f"/recipes/default/tiddlers/{segment(title)}",
            data=json.dumps({**fields, "fields": {}}),
            headers=headers,
        )
        session.send("GET", f"/recipes/default/tiddlers/{segment(title)}", headers=headers)
    for query in ("[all[tiddlers]!is[system]sort[title]]", "[tag[to do]]", "[!is[system]has[creator]limit[5]]"):
        session.send("GET", "/recipes/default/tiddlers.json", params={"filter": query}, headers=headers)
    page.reload()
    settle(page)
