// What htmx and the browser leave to us on every page: announcements, focus after a swap, copying.
"use strict";

const live = () => document.getElementById("live");

document.addEventListener("htmx:afterSwap", (event) => {
  const told = event.target.querySelector("[data-announce]");
  if (told && live()) live().textContent = told.dataset.announce;
});

// A swap that removes the focused control would leave keyboard users at the top of the page.
let focused = null;
document.addEventListener("htmx:beforeSwap", () => {
  focused = document.activeElement && document.activeElement.id;
});
document.addEventListener("htmx:afterSettle", () => {
  const again = focused && document.getElementById(focused);
  if (again && document.activeElement === document.body) again.focus({ preventScroll: true });
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(source.textContent);
  if (live()) live().textContent = "Copied";
});
