package manifest

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/storage/fault"
)

// Spec is everything that decides a dataset's rows. Its hash is the dataset's
// identity. Never add settings that do not change rows: workers, addresses,
// retries, time limits.
type Spec struct {
	Stage   string            // "rollout", ...
	Version int               // of the stage's semantics; increase it when the same inputs give other rows
	Kind    schema.Kind       // of the main table
	Params  map[string]any    // JSON-encodable; the keys are the names of the settings
	Files   map[string]string // content digest of every file that a flag or a program's arguments name
	Inputs  []Ref             // datasets and files read, in order
	Base    *Ref              // of a thin dataset: the wide dataset it is aligned with; also one of Inputs

	Gates []Gate // evaluated when the dataset is sealed; not part of the identity
	Run   Run    // the run it belongs to, from runroot.Open or dataset.RunOf its inputs; not part of the identity
	// columns of the task file that have other names than the defaults; stages copy it from their base; not part of the identity
	Columns formats.FieldNames
}

// Ref is a reference to a dataset or file that another dataset was made from.
type Ref struct {
	Role       string `json:"role"` // "base", "scores", "groups", "previous", "origins", "examples", ...
	URI        string `json:"uri"`  // relative to the dataset within one root, else absolute; never with credentials
	Identity   string `json:"identity,omitempty"`
	Digest     string `json:"digest"` // of its manifest, or of the file's content
	RowsDigest string `json:"rows_digest,omitempty"`
	// of a task file: rows that were dropped, by reason; "kept", and of them "blank", those without a question
	Counts map[string]int64 `json:"counts,omitempty"`

	Refused error `json:"-"` // of Dataset.Known: Begin returns it
}

// Gate refuses a dataset as a whole, by a share or a number of rows in some state.
type Gate struct {
	Name  string   `json:"name"`          // of the flag: "max-failure-rate", ...
	Count string   `json:"count"`         // what is counted: a key of counts, drops, failures or facts
	Of    string   `json:"of,omitempty"`  // divide by this count; "rows" for all; "" for the number itself
	Max   *float64 `json:"max,omitempty"` // refuse above
	Min   *float64 `json:"min,omitempty"` // refuse below
}

// Identity returns 16 hex digits of a SHA-256 over everything that decides
// rows. It covers the digests of inputs, not their addresses.
func (s Spec) Identity() string {
	type ref struct{ Role, Digest string }
	refs := []ref{}
	for _, r := range s.Inputs {
		refs = append(refs, ref{r.Role, r.Digest})
	}
	data, err := json.Marshal(struct {
		Stage   string
		Version int
		Kind    schema.Kind
		Params  map[string]any
		Files   map[string]string
		Inputs  []ref
	}{s.Stage, s.Version, s.Kind, s.Params, s.Files, refs})
	if err != nil {
		panic("dataset: parameters are not JSON: " + err.Error())
	}
	return ShortSum(data, 8)
}

// Redacted returns the spec as it may be stored: without secrets, and without
// values that the config file expanded from the environment. The identity is
// that of the original spec.
func (s Spec) Redacted(set *secret.Set) Spec {
	settings := set.Settings()
	if !settings.Known() {
		return s
	}
	if s.Params != nil {
		var params map[string]any
		if unmarshal(encode(s.Params), &params) == nil {
			settings.Value(&params)
			s.Params = params
		}
	}
	if s.Files != nil {
		files := make(map[string]string, len(s.Files))
		for name, digest := range s.Files {
			files[settings.Redact(name)] = digest
		}
		s.Files = files
	}
	return s
}

// CheckText refuses parameters and file names that are not UTF-8: encoded as
// JSON they would be equal to others and share their identity.
func (s Spec) CheckText(place string) error {
	refuse := func(what, name string) error {
		return fault.Invalid(place, "write it as UTF-8", nil, "%s %q is not UTF-8", what, name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		data, err := json.Marshal(s.Params[name])
		if err != nil {
			return fault.Invalid(place, "", err, "parameter %q is not JSON", name)
		}
		if !utf8.ValidString(name) || !utf8.Valid(data) || replaced.Match(data) {
			return refuse("parameter", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if !utf8.ValidString(name) {
			return refuse("the name of file", name)
		}
	}
	return nil
}

// replaced finds what encoding/json inserts for bytes that are not UTF-8. It writes
// the same character unescaped when it is in the text.
var replaced = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\\ufffd`)
