// A conversation: the outline follows the scroll, and arrow keys read tokens.
"use strict";
(() => {
  const outline = document.getElementById("outline");
  if (!outline) return;
  // Beside the conversation the outline is open, above it folded.
  const wide = matchMedia("(min-width: 60rem)");
  const fit = () => (outline.open = wide.matches);
  wide.addEventListener("change", fit);
  fit();
  const links = new Map([...outline.querySelectorAll("a")].map((a) => [a.hash.slice(1), a]));
  const seen = new Set();
  const mark = () => {
    const first = [...links.keys()].find((id) => seen.has(id));
    const link = links.get(first);
    if (!link || link.ariaCurrent) return;
    outline.querySelector("[aria-current]")?.removeAttribute("aria-current");
    link.ariaCurrent = "true";
    if (wide.matches) outline.scrollTop += link.getBoundingClientRect().top - outline.getBoundingClientRect().top - outline.clientHeight / 3;
  };
  const watch = new IntersectionObserver((entries) => {
    for (const e of entries) e.isIntersecting ? seen.add(e.target.id) : seen.delete(e.target.id);
    mark();
  }, { rootMargin: "-15px 0px -60% 0px" });
  for (const m of document.querySelectorAll("article.message[id]")) watch.observe(m);
  outline.addEventListener("click", (e) => {
    if (e.target.closest("a") && !wide.matches) outline.open = false;
  });
})();
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
