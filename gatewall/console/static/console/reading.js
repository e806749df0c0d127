// Times in the reader's zone with UTC on hover, and buttons that copy the text before them. Pages work without this.
const PLAIN = /^\s*(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?) UTC\s*$/;
const inZone = new Intl.DateTimeFormat("sv", { dateStyle: "short", timeStyle: "medium" });
const utc = (at) => at.toISOString().slice(0, 19).replace("T", " ");

// Return "2026-01-31 12:00:00" in the reader's zone; an element shows a part of it.
export const local = (moment) => inZone.format(new Date(moment));

const show = (time) => {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) return;
    time.title = `${utc(at)} UTC`;
    const bold = time.querySelector("b");
    const [first, last] = (time.dataset.part ?? "0 19").split(" ");
    if (bold) {
        time.firstChild.textContent = local(at).slice(5, 11);
        bold.textContent = local(at).slice(11);
    } else {
        time.textContent = local(at).slice(first, last);
    }
};

// Labels of a chart: texts, and the titles of bars with their start and end.
const showLabel = (bar) => {
    const moments = [bar.dataset.from, bar.dataset.until].filter(Boolean);
    const label = bar.querySelector("title") ?? bar;
    label.textContent = label.textContent.replace(/(\d\d-\d\d )?\d\d:\d\d/g, (text) => {
        const moment = moments.shift();
        return moment ? local(moment).slice(16 - text.length, 16) : text;
    });
};

export const localize = (root) => {
    for (const cell of root.querySelectorAll("#result_list td, #result_list tbody th a, .readonly, #change-history th")) {
        const found = cell.childElementCount ? null : PLAIN.exec(cell.textContent);
        if (!found) continue;
        const time = document.createElement("time");
        time.dateTime = `${found[1]}T${found[2]}Z`;
        time.textContent = cell.textContent.trim();
        cell.replaceChildren(time);
    }
    root.querySelectorAll("time[datetime]:not([title])").forEach(show);
};
localize(document);
document.querySelectorAll("svg [data-from]").forEach(showLabel);
document.querySelectorAll(".utc").forEach((zone) => { zone.remove(); });

for (const button of document.querySelectorAll("button[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    const words = button.textContent;
    button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(button.previousElementSibling.textContent.trim());
        button.textContent = button.dataset.done;
        setTimeout(() => { button.textContent = words; }, 2000);
    });
}
