// Keys and focus of the comparison view; every key presses a link that is there anyway.
"use strict";

const press = (id) => {
  const target = document.getElementById(id);
  if (target) target.click();
  return Boolean(target);
};

const typing = (event) =>
  event.ctrlKey || event.metaKey || event.altKey ||
  event.target.closest("input, select, textarea, [contenteditable]");

document.addEventListener("keydown", (event) => {
  if (event.key === " " && event.target.matches("a[role=button]")) {
    event.preventDefault();
    event.target.click();
    return;
  }
  if (event.key === "Escape" && press("drawer-close")) return;
  if (typing(event)) return;
  const keys = { j: "drawer-next", k: "drawer-previous", "[": "page-newer", "]": "page-older" };
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById("filter-q")?.focus();
  } else if (keys[event.key]) {
    press(keys[event.key]);
  }
});

// The drawer takes the focus when it opens and gives it back to its row when it closes.
let opener = null;
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.classList.contains("row-link")) opener = event.target.closest("tr").id;
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id !== "drawer") return;
  const title = document.getElementById("drawer-title");
  if (title) {
    title.focus();
  } else if (opener) {
    document.getElementById(opener)?.querySelector(".row-link")?.focus();
  }
});
