// Keys of the viewer: see the dialog in layout.html. A row is an element with
// data-row, or a row of a table's body, that has a link. A link with data-key is
// followed by that key, to the row that is being read.
"use strict";
(() => {
  const rows = () => [...document.querySelectorAll("main [data-row], main tbody tr, main li:not(.outline li)")].filter((e) => e.querySelector("a[href]") && e.offsetParent);
  const focus = (row, block) => {
    row.querySelector("a[href]").focus({ preventScroll: true });
    row.scrollIntoView({ block });
  };
  // move goes on from the row with the focus, also after htmx replaced it.
  const move = (by) => {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((e) => e.contains(document.activeElement));
    const row = all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + by))];
    focus(row, "nearest");
  };
  // here returns the row being read: the one with the focus if it is in sight, else the first in sight.
  const here = () => {
    const sight = rows().filter((e) => e.getBoundingClientRect().bottom > 0 && e.getBoundingClientRect().top < innerHeight);
    return sight.find((e) => e.contains(document.activeElement)) ?? (scrollY > 0 ? sight[0] : null);
  };
  // jump goes to the next row that is or has an element of a selector; after the last, to the first.
  const jump = (selector, by = 1) => {
    const all = rows().filter((e) => e.matches(selector) || e.querySelector(selector));
    const from = here();
    const side = by > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING;
    const left = from ? all.filter((e) => from.compareDocumentPosition(e) & side && !from.contains(e) && !e.contains(from)) : all;
    const row = (left.length ? left : all).at(by > 0 ? 0 : -1);
    if (row) focus(row, "start");
  };
  const end = (by) => {
    const row = [...document.querySelectorAll("main article[data-row]")].at(by);
    if (row) focus(row, "start");
  };
  const fold = () => {
    const all = [...document.querySelectorAll("main details.result, main details.reasoning")];
    const open = !all.every((d) => d.open);
    for (const d of all) d.open = open;
  };
  const follow = (link) => {
    const id = here()?.id;
    if (id && !link.hash) link.hash = id;
    link.click();
  };
  // cycle puts the focus on the next of some links.
  const cycle = (selector) => {
    const all = [...document.querySelectorAll(selector)];
    all[(all.indexOf(document.activeElement) + 1) % all.length]?.focus();
  };
  const go = (selector) => {
    const links = document.querySelectorAll(selector);
    if (links.length) links[links.length - 1].click();
  };
  // A trajectory is one of a list: j and k go on in that, and the arrow keys to its messages.
  const walk = (by) => (document.getElementById("messages") ? go(`a[rel=${by > 0 ? "next" : "prev"}]`) : move(by));
  const keys = {
    j: () => walk(1),
    k: () => walk(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    n: () => jump(".message.sampled"),
    p: () => jump(".message.sampled", -1),
    d: () => jump(".break, mark"),
    g: () => end(0),
    G: () => end(-1),
    o: fold,
    f: () => cycle("main .facets a"),
    s: () => cycle("main a[data-sort]"),
    u: () => go("[data-up]"),
    "[": () => go("a[rel=prev]"),
    "]": () => go("a[rel=next]"),
    x: () => document.activeElement.closest("tr")?.querySelector("input[type=checkbox]")?.click(),
    c: () => document.querySelector("#compare button")?.click(),
    "/": () => document.querySelector("main input[type=search], main input[type=text]")?.focus(),
    "?": () => document.getElementById("help").showModal(),
  };
  const shown = document.getElementById("keys");
  shown.hidden = false; // without this script there are no keys
  shown.addEventListener("click", keys["?"]);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key.startsWith("Arrow") && (event.target.closest("pre, details > summary, .scroll[tabindex]:focus") || !rows().length)) return;
    const link = document.querySelector(`main [data-key="${CSS.escape(event.key)}"]`);
    const act = keys[event.key];
    if (!act && !link) return;
    event.preventDefault();
    act ? act() : follow(link);
  });
})();
