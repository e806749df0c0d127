// Set the colors that the operator chose on this device, before the first paint.
const THEMES = ["auto", "light", "dark", "contrast"];
let theme = "auto";
try { theme = localStorage.getItem("theme") || theme; } catch { /* storage is off */ }
document.documentElement.dataset.theme = THEMES.includes(theme) ? theme : "auto";
