"use strict";
// Add a button after each password field that shows the password. Without this script there is no such button.
(() => {
  const words = document.currentScript.dataset;
  for (const field of document.querySelectorAll("input[type=password]")) {
    const button = document.createElement("button");
    const show = (isShown) => {
      field.type = isShown ? "text" : "password";
      button.textContent = isShown ? words.hide : words.show;
      button.setAttribute("aria-pressed", String(isShown));
    };
    button.type = "button";
    button.className = "show";
    if (field.id) button.setAttribute("aria-controls", field.id);
    button.addEventListener("click", () => show(field.type === "password"));
    field.form?.addEventListener("submit", () => show(false));
    field.after(button);
    show(false);
  }
})();
