// Pages work without this: times in the reader's zone with UTC on hover, and buttons that copy the text before them.
const PLAIN = /^\s*(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?) UTC\s*$/;
const inZone = new Intl.DateTimeFormat("sv", { dateStyle: "short", timeStyle: "medium" });

const show = (time) => {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) return;
    time.title = time.textContent.trim();
    time.textContent = inZone.format(at);
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
