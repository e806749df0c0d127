// Keys for the search, and the choice of colors. The console works without this script.
const search = document.querySelector("#search input");
const drawer = document.getElementById("drawer");
const isTyping = (element) => element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName);

document.addEventListener("keydown", (event) => {
    const isSlash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target);
    const isK = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
    if (search && (isSlash || isK)) {
        event.preventDefault();
        search.focus();
        search.select();
    } else if (event.key === "Escape" && drawer?.checked) {
        drawer.checked = false;
        drawer.focus();
    }
});

const button = document.getElementById("theme");
if (button) {
    const root = document.documentElement;
    const show = () => {
        button.setAttribute("aria-label", button.dataset[root.dataset.theme]);
        button.title = button.dataset[root.dataset.theme];
    };
    button.hidden = false;
    button.addEventListener("click", () => {
        root.dataset.theme = THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length];
        try { localStorage.setItem("theme", root.dataset.theme); } catch { /* storage is off */ }
        show();
    });
    show();
}
