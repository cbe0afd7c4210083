package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage/fault"
)

// ExistsError reports that the URI holds a dataset of another identity.
type ExistsError struct {
	URI     string
	Old     string   // its identity
	New     string   // the identity of the dataset to write
	Sealed  bool     // false: there are only records of some shards
	Late    bool     // it appeared while the new one was being written
	Differs []string // what differs: "generations was 4, is 8", ...
}

func (e *ExistsError) Error() string {
	what := "holds another dataset"
	if !e.Sealed {
		what = "holds shards of another dataset"
	}
	if e.Late {
		what = "was written by another command meanwhile: it holds another dataset"
	}
	msg := fmt.Sprintf("%q %s (identity %s, this is %s)", e.URI, what, e.Old, e.New)
	if len(e.Differs) > 0 {
		msg += ": " + strings.Join(e.Differs, "; ")
	}
	return msg
}

// Fault says how to write all the same.
func (e *ExistsError) Fault() (fault.Kind, string) {
	if e.Late {
		return fault.Usage, "nothing was replaced; write to another --out, or run this again with --overwrite to replace what is there now"
	}
	return fault.Usage, "write to another --out, or replace it with --overwrite"
}

// Differences compares the settings and inputs of an older dataset with a spec.
func Differences(m *Manifest, s Spec) []string {
	var out []string
	note := func(what, was, is string) {
		if was != is {
			out = append(out, fmt.Sprintf("%s was %s, is %s", what, was, is))
		}
	}
	note("stage", short(m.Stage), short(s.Stage))
	note("stage version", short(m.Version), short(s.Version))
	note("kind", short(m.Kind), short(s.Kind))
	for _, k := range keysOf(m.Params, s.Params) {
		note(k, entry(m.Params, k), entry(s.Params, k))
	}
	for _, k := range keysOf(m.Files, s.Files) {
		was, before := m.Files[k]
		is, after := s.Files[k]
		switch {
		case !before:
			out = append(out, fmt.Sprintf("file %s was not part of it", k))
		case !after:
			out = append(out, fmt.Sprintf("file %s is no longer part of it", k))
		case was != is:
			out = append(out, fmt.Sprintf("file %s was changed", k))
		}
	}
	was, is := inputsOf(m.Inputs), inputsOf(s.Inputs)
	for _, k := range keysOf(was, is) {
		note("input "+k, entry(was, k), entry(is, k))
	}
	return out
}

func inputsOf(refs []Ref) map[string]string {
	out := map[string]string{}
	for i, r := range refs {
		role := r.Role
		if _, taken := out[role]; taken {
			role = fmt.Sprintf("%s %d", role, i)
		}
		out[role] = r.Digest
	}
	return out
}

// entry returns an entry for a message.
func entry[V any](m map[string]V, key string) string {
	if v, ok := m[key]; ok {
		return short(v)
	}
	return "not there"
}

func keysOf[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// short returns a value for a message: JSON, cut when it is long.
func short(v any) string {
	data, err := jsontext.Append(nil, v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return excerpt.Start(string(data), 60)
}
