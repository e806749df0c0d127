"use strict";

// Drag a rule to its place. Without this script, the buttons of each row do the same.
const places = [...document.querySelectorAll("#result_list .rule-place")];
let dragged = null;

const positionOf = (row) => Number(row.querySelector(".rule-place").dataset.position);
const rowOf = (event) => event.target.closest("#result_list tbody tr");

for (const place of places) {
  const row = place.closest("tr");
  row.draggable = true;
  row.addEventListener("dragstart", (event) => {
    dragged = row;
    row.classList.add("dragged");
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", "");
  });
  row.addEventListener("dragend", () => {
    row.classList.remove("dragged");
    dragged = null;
  });
  row.addEventListener("dragover", (event) => {
    if (dragged && dragged !== row) {
      event.preventDefault();
      row.classList.add("drop-here");
    }
  });
  row.addEventListener("dragleave", () => row.classList.remove("drop-here"));
  row.addEventListener("drop", (event) => {
    event.preventDefault();
    const target = rowOf(event);
    target.classList.remove("drop-here");
    if (dragged && target !== dragged) {
      const button = dragged.querySelector("button.move");
      button.value = positionOf(target);
      button.disabled = false;
      button.click();
    }
  });
}
