// Single-letter keys of every page; each presses a link that is there anyway, and can be switched off.
"use strict";

const press = (id) => {
  const target = document.getElementById(id);
  if (target) target.click();
  return Boolean(target);
};

const typing = (event) =>
  event.ctrlKey || event.metaKey || event.altKey ||
  event.target.closest("input, select, textarea, [contenteditable], dialog[open]");

const switchedOff = () => localStorage.getItem("keys") === "off";

// j and k walk the rows of the page, or of the open drawer.
const moveRow = (step) => {
  if (press(step > 0 ? "drawer-next" : "drawer-previous")) return;
  if (document.getElementById("drawer-close")) return;
  const links = [...document.querySelectorAll(".row-link")];
  const now = links.indexOf(document.activeElement);
  links[Math.max(0, Math.min(links.length - 1, now + step))]?.focus();
};

const copyLink = async () => {
  await navigator.clipboard.writeText(window.location.href);
  const live = document.getElementById("live");
  if (live) live.textContent = "Link copied";
};

const search = () => document.querySelector("main input[type=search]")?.focus();

const acts = {
  "/": search,
  f: search,
  j: () => moveRow(1),
  k: () => moveRow(-1),
  "[": () => press("page-newer"),
  "]": () => press("page-older"),
  o: () => document.activeElement?.matches(".row-link") && document.activeElement.click(),
  d: () => press("view-diff"),
  x: () => document.activeElement?.closest("tr")?.querySelector("input[form=tray]")?.click(),
  n: () => press("new"),
  y: copyLink,
  "?": () => document.getElementById("keys")?.showModal(),
};

const places = { d: "go-datasets", e: "go-experiments", l: "go-leaderboards", s: "go-settings" };
let going = false;

document.addEventListener("keydown", (event) => {
  if (event.key === " " && event.target.matches("a[role=button]")) {
    event.preventDefault();
    event.target.click();
    return;
  }
  if (event.key === "Escape" && !event.target.closest("dialog") && press("drawer-close")) return;
  if (typing(event) || (switchedOff() && event.key !== "?")) return;
  if (going) {
    going = false;
    if (places[event.key]) press(places[event.key]);
    return;
  }
  if (event.key === "g") {
    going = true;
    setTimeout(() => { going = false; }, 1000);
    return;
  }
  if (!acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
});

document.addEventListener("change", (event) => {
  if (event.target.id === "keys-on") {
    localStorage.setItem("keys", event.target.checked ? "on" : "off");
  }
});
document.addEventListener("DOMContentLoaded", () => {
  const box = document.getElementById("keys-on");
  if (box) box.checked = !switchedOff();
});
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-opens-keys]")) document.getElementById("keys").showModal();
});
