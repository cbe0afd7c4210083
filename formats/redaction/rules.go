package redaction

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"

	"github.com/rollmill/rollmill/formats/secret"
)

// Rules say what to remove from rows. They are safe for concurrent use. Nil rules remove nothing.
type Rules struct {
	finders []finder
	example []field // below the column
	meta    []field
	roles   []message

	names []string // in marks
	name  string   // of rules that no file has

	plain     bool // only detectors of keys, which find the same in a JSON text as in its strings
	canonical canonical
}

// None are rules that remove nothing, where others would be the default.
func None() *Rules { return none }

var none = &Rules{name: "none"}

// finder appends the places of one or several kinds in a text.
type finder func(dst []span, text string) []span

// span is a place in a text.
type span struct {
	from, to int
	name     string // of the detector or pattern
	rank     int    // of two that begin at one place, the lower one gives the name
}

// field is a value of a JSON text that is masked or removed.
type field struct {
	path   []string // keys; "*" stands for every key and every element
	name   string   // in counts and in the mark
	put    string   // the JSON text that replaces the value
	remove bool     // the key goes, too
}

// message selects messages whose content is masked or removed.
type message struct {
	role, tool string // one of them
	name       string
	put        string
}

// canonical is what the digest covers: the file without its comments.
type canonical struct {
	Version   int         `json:"version"` // of the built-in detectors
	Detectors []string    `json:"detectors"`
	Patterns  [][2]string `json:"patterns"` // name, regexp
	Fields    [][2]string `json:"fields"`   // path, action
	Messages  [][3]string `json:"messages"` // role, tool, action
}

// version changes when a detector finds something else than before.
const version = 1

// Digest identifies the rules, for identities: rules with one digest change a row in the same way.
func (r *Rules) Digest() string {
	if r == nil {
		return ""
	}
	if r.name != "" {
		return r.name
	}
	data, err := json.Marshal(r.canonical)
	if err != nil {
		panic(err) // it holds texts only
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:12])
}

// MarshalJSON returns the digest: a stage that declares rules as part of its
// identity stores no more of them.
func (r *Rules) MarshalJSON() ([]byte, error) { return json.Marshal(r.Digest()) }

func pattern(name string, rank int, re *regexp.Regexp) finder {
	return func(dst []span, text string) []span {
		for _, at := range re.FindAllStringIndex(text, -1) {
			if at[0] < at[1] {
				dst = append(dst, span{at[0], at[1], name, rank})
			}
		}
		return dst
	}
}

func mark(name string) string { return secret.Mark(name) }
