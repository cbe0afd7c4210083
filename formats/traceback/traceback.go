// Package traceback finds where a Python program failed: the place in its own code,
// which a traceback has somewhere between the files of libraries.
package traceback

import (
	"regexp"
	"strings"
)

// begin is the first line of a traceback.
const begin = "Traceback (most recent call last)"

// frame matches a line of a traceback that names a place.
var frame = regexp.MustCompile(`^\s*File "([^"]+)", line (\d+)(, in [^<\s]\S*)?`)

// library matches the files of Python, of installed packages, and of our module.
var library = regexp.MustCompile(`/(site|dist)-packages/|/lib/python[0-9.]+/|/rollmill/_[a-z]+\.py$|^<`)

// Place returns the last place in the user's code of the last traceback of a text,
// as in "agent.py, line 7, in solve"; "" without one.
func Place(text string) string {
	var f Finder
	for line := range strings.Lines(text) {
		f.Line(line)
	}
	return f.Place
}

// Summary returns the exception of the last traceback of a text, with the place in the
// user's code, as in "ValueError: no (agent.py, line 7, in solve)"; "" without one.
func Summary(text string) string {
	at := strings.LastIndex(text, begin)
	if at < 0 {
		return ""
	}
	_, frames, _ := strings.Cut(text[at:], "\n")
	for line := range strings.Lines(frames) {
		if said := strings.TrimSpace(line); said != "" && line[0] != ' ' {
			if place := Place(text[at:]); place != "" {
				said += " (" + place + ")"
			}
			return said
		}
	}
	return ""
}

// Finder finds the place in a text that comes line by line.
type Finder struct{ Place string }

// Line reads the next line.
func (f *Finder) Line(line string) {
	if strings.Contains(line, begin) {
		f.Place = ""
		return
	}
	if m := frame.FindStringSubmatch(line); m != nil && !library.MatchString(m[1]) {
		f.Place = m[1] + ", line " + m[2] + m[3]
	}
}
