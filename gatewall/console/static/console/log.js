// Follow new rows, drag over the histogram, close menus, pick times in the reader's zone. The log works without this.
import { local, localize } from "./reading.js";

const table = document.querySelector(".log table");
const button = document.getElementById("live");
const state = document.getElementById("live-state");
const EVERY = 2000;
const MOST = 500;

const entries = () => table.querySelectorAll(".entry");
const isBusy = () => scrollY > 40 || document.hidden || table.querySelector(".toggle:checked, .menu[open]");

async function newRows() {
    const since = table.querySelector(".entry")?.dataset.at ?? new Date().toISOString();
    const answer = await fetch(`${button.dataset.url}&since=${encodeURIComponent(since)}`);
    if (!answer.ok || answer.redirected) {
        throw new Error("signed out");
    }
    const found = document.createElement("template");
    found.innerHTML = `<table>${await answer.text()}</table>`;
    return [...found.content.querySelectorAll(".entry")];
}

function insert(rows) {
    if (rows.length > 0) {
        document.getElementById("nothing")?.remove();
    }
    for (const row of rows.reverse()) {  // oldest first, each before the first row that is not newer
        if (!document.getElementById(row.id)) {
            localize(row);
            const next = [...entries()].find((each) => each.dataset.at <= row.dataset.at);
            table.insertBefore(row, next ?? null);
        }
    }
    [...entries()].slice(MOST).forEach((each) => each.remove());
}

async function follow() {
    if (button.getAttribute("aria-pressed") !== "true") {
        return;
    }
    try {
        if (isBusy()) {
            state.textContent = button.dataset.paused;
        } else {
            insert(await newRows());
            state.textContent = "";
        }
        setTimeout(follow, EVERY);
    } catch {
        button.setAttribute("aria-pressed", "false");
        state.textContent = button.dataset.stopped;
    }
}

if (button && table) {
    button.hidden = false;
    button.addEventListener("click", () => {
        const isOn = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", isOn);
        state.textContent = "";
        follow();
    });
}

table?.addEventListener("click", (event) => {
    const row = event.target.closest(".entry > tr:not(.more)");
    if (row && !event.target.closest("a, input, summary, details") && getSelection().isCollapsed) {
        row.querySelector(".toggle").click();
    }
});
document.addEventListener("click", (event) => {
    document.querySelectorAll(".menu[open]").forEach((menu) => { menu.open = menu.contains(event.target); });
});
document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && document.querySelector(".menu[open]");
    if (menu) {
        menu.open = false;
        menu.querySelector("summary").focus();
    }
});

// Drag from one bar to another to select the rows between them.
const bars = document.getElementById("bars");
const mark = document.getElementById("dragged");
let from = null;
const barAt = (event) => document.elementsFromPoint(event.clientX, event.clientY).map((each) => each.closest("#bars a")).find(Boolean);
const show = (one, other) => {
    const boxes = [one, other].map((each) => each.querySelector(".room"));
    const start = Math.min(...boxes.map((each) => each.x.baseVal.value));
    const end = Math.max(...boxes.map((each) => each.x.baseVal.value + each.width.baseVal.value));
    mark.setAttribute("x", start);
    mark.setAttribute("width", end - start);
};

bars?.addEventListener("dragstart", (event) => event.preventDefault());
bars?.addEventListener("pointerdown", (event) => { from = event.button === 0 ? barAt(event) ?? null : null; });
document.addEventListener("pointermove", (event) => {
    const to = from && barAt(event);
    if (to && to !== from) {
        show(from, to);
    }
});
document.addEventListener("pointerup", (event) => {
    const to = from && barAt(event);
    if (to && to !== from) {
        const query = new URLSearchParams(location.search);
        ["cursor", "trail", "count"].forEach((name) => query.delete(name));
        query.set("start_time", [from.dataset.from, to.dataset.from].sort()[0]);
        query.set("end_time", [from.dataset.until, to.dataset.until].sort()[1]);
        location.search = query;
    }
    from = null;
    mark?.setAttribute("width", 0);
});

// The filter form shows times in the reader's zone, and sends them in UTC.
for (const field of document.querySelectorAll(".find [type=datetime-local]")) {
    if (field.value) {
        field.value = local(`${field.value}Z`).replace(" ", "T");
    }
    field.form.addEventListener("formdata", (event) => {
        if (field.value) {
            event.formData.set(field.name, new Date(field.value).toISOString().slice(0, 19));
        }
    });
}
