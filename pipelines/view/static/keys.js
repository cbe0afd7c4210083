// Keys of the viewer: see the dialog in layout.html. A row is an element with
// data-row, or a row of a table's body, that has a link.
"use strict";
(() => {
  const rows = () => [...document.querySelectorAll("main [data-row], main tbody tr, main li")].filter((e) => e.querySelector("a[href]") && e.offsetParent);
  // move goes on from the row with the focus, also after htmx replaced it.
  const move = (by) => {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((e) => e.contains(document.activeElement));
    const row = all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + by))];
    row.querySelector("a[href]").focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  };
  const go = (selector) => {
    const links = document.querySelectorAll(selector);
    if (links.length) links[links.length - 1].click();
  };
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    u: () => go("[data-up]"),
    "[": () => go("a[rel=prev]"),
    "]": () => go("a[rel=next]"),
    "/": () => document.querySelector("main input[type=search], main input[type=text]")?.focus(),
    "?": () => document.getElementById("help").showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key.startsWith("Arrow") && (event.target.closest("pre, details > summary, .scroll[tabindex]:focus") || !rows().length)) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
})();
