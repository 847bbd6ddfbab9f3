// Focus of pages with a drawer: it takes the focus when it opens and gives it back to its row.
"use strict";

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
