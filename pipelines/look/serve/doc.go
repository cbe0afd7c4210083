// Package serve serves a run, or a folder of runs, as pages for a browser on this machine: the
// run, its epochs, datasets, groups and trajectories, and a rollout under way. It only reads:
// it takes no lock, and writes nothing under the run.
//
// A page is a line in routes.go, a function that returns the page's model, and a
// template of the route's name in templates. Every state of a page is in its URL, and
// every page works without JavaScript.
//
// Trajectories are untrusted text. security.go keeps others out: it allows loopback
// only, requires a token, and checks the Host and Origin headers. Its policy lets no
// page run a script or send a request that is not the server's own. Only what
// package catalogue found below the run's root can be opened.
//
// Decisions. Plots are the SVG images of package plot; no plotting library runs in
// the browser. They are the same figures as in the report, need no script, and follow
// the colours of the page. htmx replaces parts of a page, for a rollout under way
// and for texts in lists: it is one file of 52 kB, without a build step. keys.js and
// reading.js are ours. goldmark renders Markdown on the server, where tests can look at
// what comes out; a sanitizer in the browser would be one more script to trust. Links in
// data are text: a click on one would tell its host what is being read.
package serve
