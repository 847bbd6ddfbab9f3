// Drag and drop, the name from the file's name, the size limit before sending, one sending only.
"use strict";

// The form has a control called "dataset", which hides the property of that name.
const form = document.getElementById("upload-form");

const stem = (name) => name.replace(/^.*[\\/]/, "").replace(/\.[^.]*$/, "").trim().slice(0, 200);

const looked = (file) => {
  const tooLarge = file && file.size > Number(form.getAttribute("data-limit"));
  const told = document.getElementById("id_file_error");
  told.textContent = tooLarge ? form.getAttribute("data-too-large") : "";
  document.getElementById("drop").classList.toggle("error-field", Boolean(tooLarge));
  document.getElementById("upload-button").disabled = Boolean(tooLarge);
};

const named = (file) => {
  const name = form.elements.dataset_name;
  if (file && (!name.value || name.dataset.guessed === name.value)) {
    name.value = name.dataset.guessed = stem(file.name);
  }
};

if (form) {
  const input = form.elements.file;
  const drop = document.getElementById("drop");
  input.addEventListener("change", () => {
    looked(input.files[0]);
    named(input.files[0]);
  });
  for (const kind of ["dragover", "dragenter"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
  // Choosing a dataset or typing a name says which of the two is meant.
  form.addEventListener("input", (event) => {
    const way = { dataset: "existing", dataset_name: "new", answered: "results", experiment: "results" }[event.target.name];
    if (way) form.elements.target.value = way;
  });
  form.addEventListener("submit", () => {
    const button = document.getElementById("upload-button");
    button.textContent = button.dataset.busy;
  });
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("#upload-form, [data-once]")) return;
  if (event.target.hasAttribute("data-sent")) event.preventDefault();
  event.target.setAttribute("data-sent", "");
});
window.addEventListener("pageshow", () => {
  for (const sent of document.querySelectorAll("[data-sent]")) sent.removeAttribute("data-sent");
});

const refused = document.getElementById("refused") || document.getElementById("form-errors");
if (refused) refused.focus();
