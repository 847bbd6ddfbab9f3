// Draws the plots of a page after its numbers. The library is fetched when the first plot appears.
"use strict";

const library = document.currentScript.dataset.plotly;
let loading = null;

const load = () => {
  loading ||= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = library;
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  });
  return loading;
};

// Plots name our CSS variables; what they stand for depends on the theme.
const painter = (element) => {
  const probe = document.createElement("span");
  element.append(probe);
  const paint = (value) => {
    if (typeof value === "string" && value.startsWith("var(")) {
      probe.style.color = value;
      return getComputedStyle(probe).color;
    }
    if (Array.isArray(value)) return value.map(paint);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, paint(one)]));
    }
    return value;
  };
  return paint;
};

const draw = async (element) => {
  await load();
  const figure = painter(element)(JSON.parse(element.dataset.figure));
  element.replaceChildren();
  figure.layout.font.family = getComputedStyle(element).fontFamily;
  await Plotly.newPlot(element, figure.data, figure.layout, {
    displayModeBar: false, responsive: true, showTips: false,
  });
  element.dataset.drawn = "yes";
};

const drawAll = () => document.querySelectorAll(".plot[data-figure]:not([data-asked])").forEach((element) => {
  element.dataset.asked = "yes";
  draw(element).catch(() => { element.hidden = true; });
});

document.addEventListener("htmx:afterSwap", drawAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  document.querySelectorAll(".plot[data-drawn]").forEach((element) => draw(element));
});
drawAll();
