package command

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// keys are those of a agents.Output.
var keys = []string{"trajectory_id", "answer", "reward", "rewards", "metadata", "stop", "error", "traceback"}

// begun matches the beginning of a result, also of one that is broken.
var begun = regexp.MustCompile(`^\{\s*"(?i:` + strings.Join(keys, "|") + `)"`)

// resultIn returns the part of a program's output that agents.ReadResult reads:
// all of it, or what begins at the last line that begins with "{", if that is
// a result and other text comes before it.
func resultIn(out []byte) []byte {
	out = bytes.TrimSpace(out)
	last := out[bytes.LastIndex(out, []byte("\n{"))+1:]
	if !valid(out) && isResult(last) {
		return last
	}
	return out
}

func valid(text []byte) bool {
	clean, _ := jsontext.Mend(text)
	return json.Valid(clean)
}

// isResult reports whether a text is an object with the key of a result, in
// whatever letters, or begins like one: then ReadResult says what is wrong.
func isResult(text []byte) bool {
	if begun.Match(text) || !valid(text) {
		return begun.Match(text)
	}
	for key := range jsontext.Members(text) {
		if slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, string(key)) }) {
			return true
		}
	}
	return false
}
