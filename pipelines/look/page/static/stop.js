// The button that stops a search: it stops loading the page, which ends the request.
// Without JavaScript the browser's own button does. keys.js runs only after the page
// is complete, so that this is a script of its own.
"use strict";
(() => {
  const stop = document.getElementById("stop");
  if (!stop || document.readyState !== "loading") return;
  stop.hidden = false;
  stop.querySelector("button").addEventListener("click", () => {
    window.stop();
    stop.textContent = "Stopped.";
  });
  document.addEventListener("DOMContentLoaded", () => {
    if (stop.querySelector("button")) stop.hidden = true;
  });
})();
