package score

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// Fields returns the example's fields, with numbers as float64. It is decoded once.
func (r *Row) Fields() (map[string]any, error) {
	if r.fields == nil && r.err == nil {
		r.fields, r.err = decode(r.Example, "example")
	}
	return r.fields, r.err
}

func decode(text, what string) (map[string]any, error) {
	fields := map[string]any{}
	if text == "" {
		return fields, nil
	}
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return nil, fmt.Errorf("the %s is not a JSON object: %w", what, err)
	}
	return fields, nil
}

// ExampleJSON returns the example as JSON text, "{}" if there is none, and an
// error if it is not an object.
func (r *Row) ExampleJSON() (string, error) {
	text := strings.TrimSpace(r.Example)
	switch {
	case text == "":
		return "{}", nil
	case text[0] == '{' && json.Valid([]byte(text)):
		return r.Example, nil
	}
	_, err := r.Fields()
	return r.Example, err
}

// MissingField is the error of a field that a row does not have.
type MissingField struct{ text string }

func (m *MissingField) Error() string { return m.text }

// FieldFailed returns the value of a row whose fields could not be read.
func FieldFailed(err error) Value {
	var missing *MissingField
	if errors.As(err, &missing) {
		return Failed(outcomes.RewardMissing, "%v", err)
	}
	return Failed(outcomes.RewardError, "%v", err)
}

// Field returns the example's field of that name or, if there is none, at that
// path: the names of nested objects separated by dots. "answer" is the column
// that rollout's answer-key named. The error lists the existing names.
func (r *Row) Field(path string) (any, error) {
	if path == "answer" && r.answer != "" {
		path = r.answer
	}
	fields, err := r.Fields()
	if err != nil {
		return nil, err
	}
	if v, ok := at(fields, path); ok {
		return v, nil
	}
	return nil, &MissingField{fmt.Sprintf("the example has no field %q (it has %s)", path, quotedNames(fields))}
}

// FieldText returns a field's value as a reference: a text, a number or a truth value.
func FieldText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case float64, bool:
		b, err := json.Marshal(v)
		return string(b), err
	case nil:
		return "", fmt.Errorf("it is null, which is no reference")
	default:
		return "", fmt.Errorf("an object or a list of lists is no reference")
	}
}

// MetadataField returns nil if the trajectory's metadata has such a field.
func (r *Row) MetadataField(path string) error {
	fields, err := decode(r.Metadata, "metadata")
	if err != nil {
		return err
	}
	if _, ok := at(fields, path); !ok {
		return &MissingField{fmt.Sprintf("the metadata has no field %q (it has %s)", path, quotedNames(fields))}
	}
	return nil
}

// at returns the value of a name or, if there is none, at a path.
func at(fields map[string]any, path string) (any, bool) {
	if v, ok := fields[path]; ok {
		return v, true
	}
	var found any = fields
	for name := range strings.SplitSeq(path, ".") {
		object, ok := found.(map[string]any)
		if !ok {
			return nil, false
		}
		if found, ok = object[name]; !ok {
			return nil, false
		}
	}
	return found, true
}

// Reward returns the value of a known reward; null is (nil, true).
func (r *Row) Reward(name string) (value *float64, known bool) {
	for i := range r.Known {
		if r.Known[i].Name == name {
			return r.Known[i].Value, true
		}
	}
	return nil, false
}

// Steps returns the messages of the main path that the model wrote, in order:
// each has a shaped reward. Only for rewards that need Text.
func (r *Row) Steps() []int {
	return slices.DeleteFunc(r.Main(), func(i int) bool { return !r.Messages[i].Sampled })
}

// Scorable reports whether a trajectory of that status is scored at all.
func Scorable(status string) bool {
	return status == outcomes.StatusOK || status == outcomes.StatusTruncated
}

// Row is one trajectory to score. A reward reads it and changes nothing.
type Row struct {
	*formats.Trajectory
	Known  []formats.NamedReward // carried forward from scores, then those computed in this run
	Shaped map[string][]float64  // that they gave in this run, by name; under "" those stored (Description.Shaped)

	answer  string         // the example's column of the reference; "" for the default
	fields  map[string]any // of the example, decoded when first needed
	err     error
	shaped  []float64        // carried forward
	signals []formats.Signal // carried forward, then with those of this run
	fresh   []float64        // the weighted sum of all shaped rewards
	steps   []string         // the rewards that gave shaped ones
	tried   map[string]Value // of programs that were tried on it, by reward
	copied  *copiedRow       // its scores that may be carried over; nil without
}

// copiedRow is the rewards of a row in a copySource.
type copiedRow struct {
	rewards    map[string]formats.NamedReward
	shaped     []float64
	signals    []formats.Signal
	recomputed bool // a reward of the row is computed: its shaped rewards are summed again

	computed []string // the rewards that were computed
}

// value returns the value that is carried over for a row.
func (b *copiedRow) value(spec Spec) formats.NamedReward {
	n, ok := b.rewards[spec.Name]
	if !ok {
		n = named(spec, Failed(outcomes.RewardMissing, notComputed), nil)
	}
	n.Weight = spec.Weight
	return n
}

func newCopiedRow(s *formats.Score) *copiedRow {
	b := &copiedRow{rewards: make(map[string]formats.NamedReward, len(s.Rewards)), shaped: s.ShapedRewards,
		signals: s.Signals}
	for _, r := range s.Rewards {
		b.rewards[r.Name] = r
	}
	return b
}

// groupKey is what the rows of a group have in common.
type groupKey struct {
	example string
	epoch   int32
}

func groupOf(r *Row) groupKey { return groupKey{r.ExampleID, r.Epoch} }
