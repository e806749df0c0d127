// Before the first paint: the colors that the operator chose on this device.
const THEMES = ["auto", "light", "dark", "contrast"];
let theme = "auto";
try { theme = localStorage.getItem("theme") || theme; } catch { /* storage is off */ }
document.documentElement.dataset.theme = THEMES.includes(theme) ? theme : "auto";
