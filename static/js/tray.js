// What is ticked in a list: kept in the address over pages, searches and refreshes.
"use strict";

const tray = document.getElementById("tray");
const boxes = () => [...document.querySelectorAll("input[type=checkbox][form=tray]")];

const name = tray?.dataset.param || "exp";
const all = document.getElementById("tray-all");

// What is ticked → its dataset, in the order of ticking.
const ticked = new Map();

const asQuery = (address) => {
  const url = new URL(address, window.location.href);
  url.searchParams.delete(name);
  for (const uid of ticked.keys()) url.searchParams.append(name, uid);
  return url.pathname + url.search;
};

const reason = (act) => {
  const count = ticked.size;
  const most = Number(tray.dataset.most);
  if (all) return count || all.checked ? "" : "Tick one at least.";
  if (act === "evaluate") return count ? "" : "Tick one at least.";
  if (new Set(ticked.values()).size > 1) return "They ran over different datasets: only experiments of one dataset can be compared.";
  if (act === "pairwise" && count !== 2) return "A pairwise comparison takes exactly two.";
  if (count < 2) return "Tick two at least.";
  return count > most ? `Side by side there is room for ${most}.` : "";
};

const told = () => {
  const count = ticked.size;
  if (!count) return all ? "Tick examples to change them together." : "Tick experiments to compare or evaluate them.";
  const here = new Set(boxes().map((box) => box.value));
  const elsewhere = [...ticked.keys()].filter((uid) => !here.has(uid)).length;
  const pages = elsewhere ? `, ${elsewhere} of them on other pages` : "";
  const why = count > 1 && !all ? reason("compare") : "";
  return `${count} ticked${pages}${why ? `. ${why}` : ""}`;
};

const keepHidden = () => {
  for (const old of tray.querySelectorAll(`input[name=${name}]`)) old.remove();
  const here = new Set(boxes().map((box) => box.value));
  for (const uid of ticked.keys()) {
    if (here.has(uid)) continue;
    const input = Object.assign(document.createElement("input"), { type: "hidden", name, value: uid });
    tray.append(input);
  }
};

const enable = () => {
  for (const button of tray.querySelectorAll("button[name=do]")) {
    if (button.dataset.never) continue;
    button.title = reason(button.value);
    button.setAttribute("aria-disabled", String(Boolean(button.title)));
  }
};

const show = () => {
  for (const box of boxes()) box.checked = ticked.has(box.value);
  keepHidden();
  enable();
  tray.classList.toggle("filled", ticked.size > 0 || Boolean(all?.checked));
  document.getElementById("tray-clear").hidden = !ticked.size;
  document.getElementById("tray-told").textContent = told();
  for (const link of document.querySelectorAll("#page-newer, #page-older")) link.href = asQuery(link.href);
};

const remember = () => {
  show();
  window.history.replaceState(window.history.state, "", asQuery(window.location.href));
};

let last = null;
const tick = (box, on) => {
  if (on) ticked.set(box.value, box.dataset.dataset);
  else ticked.delete(box.value);
};

if (tray) {
  for (const one of tray.querySelectorAll(`input[name=${name}]`)) ticked.set(one.value, one.dataset.dataset);
  for (const box of boxes()) if (box.checked) ticked.set(box.value, box.dataset.dataset);
  for (const button of tray.querySelectorAll("button[disabled]")) button.dataset.never = "yes";
  show();

  document.addEventListener("click", (event) => {
    if (event.target === all) show();
    if (!event.target.matches("input[form=tray]")) return;
    const list = boxes();
    const [from, to] = [list.indexOf(last), list.indexOf(event.target)].sort((a, b) => a - b);
    const range = event.shiftKey && from >= 0 ? list.slice(from, to + 1) : [event.target];
    for (const box of range) tick(box, event.target.checked);
    last = event.target;
    remember();
  });
  tray.addEventListener("submit", (event) => {
    if (event.submitter && event.submitter.getAttribute("aria-disabled") === "true") event.preventDefault();
  });
  tray.addEventListener("click", (event) => {
    if (event.target.id !== "tray-clear") return;
    event.preventDefault();
    ticked.clear();
    remember();
  });
  // The list's own requests carry what is ticked now, not what was when it was made.
  document.addEventListener("htmx:configRequest", (event) => {
    delete event.detail.parameters[name];
    event.detail.path = asQuery(event.detail.path);
  });
  document.addEventListener("htmx:afterSwap", show);
}
