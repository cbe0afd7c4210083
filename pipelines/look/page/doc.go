// Package page is what pages for a browser have in common, those that package view serves and
// the one that package report writes to a file: the templates and the style, and a message as
// pages show it, with its parts, tokens and place in the tree. Texts of models and programs are
// data: templates escape them, and Markdown becomes elements that can neither load nor run
// anything.
package page
