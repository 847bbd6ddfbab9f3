// Shows what belongs to the chosen evaluator only; without this script everything is shown.
"use strict";

const fit = () => {
  const form = document.getElementById("launch");
  if (!form) return;
  const chosen = form.elements.evaluator.value;
  let needsModel = false;
  for (const help of form.querySelectorAll(".kind-help")) {
    help.hidden = help.dataset.kind !== chosen;
    if (!help.hidden) needsModel = help.dataset.needsModel === "yes";
  }
  for (const part of form.querySelectorAll("[data-only-for=model]")) part.hidden = !needsModel;
};

document.addEventListener("change", (event) => {
  if (event.target.closest("#launch")) fit();
});
document.addEventListener("submit", (event) => {
  if (event.target.id !== "launch") return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => {
  const form = document.getElementById("launch");
  if (form) delete form.dataset.sent;
  fit();
});
