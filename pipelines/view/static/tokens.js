// Keys in a run of tokens: the arrow keys move from one to the next.
"use strict";
document.addEventListener("keydown", (event) => {
  const run = event.target.closest(".run");
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!run || !by) return;
  const tokens = [...run.querySelectorAll(".t")];
  const at = tokens.indexOf(event.target);
  const next = tokens[at < 0 ? 0 : Math.max(0, Math.min(tokens.length - 1, at + by))];
  event.preventDefault();
  next.setAttribute("aria-label", `${next.textContent}, ${next.title}`);
  next.setAttribute("role", "note");
  next.focus();
});
