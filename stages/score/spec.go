package score

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/storage/fault"
)

// Spec says which reward to compute: NAME[*WEIGHT]=KIND:ARGUMENTS.
type Spec struct {
	Name      string  `json:"name"`
	Weight    float64 `json:"weight"`
	Kind      string  `json:"kind"`
	Arguments string  `json:"arguments,omitempty"`

	// What the reward said of itself when it was made: see Description.
	Parts   []string `json:"parts,omitempty"`
	NoValue bool     `json:"no_value,omitempty"`

	unnamed bool // without a name, so named after its kind
}

// Specs are rewards in the order they are computed.
type Specs []Spec

// Parse reads each text as ParseReward does.
func (s *Specs) Parse(texts []string) error {
	var out Specs
	for _, text := range texts {
		spec, err := ParseReward(text)
		if err != nil {
			return err
		}
		out = append(out, spec)
	}
	*s = out
	return nil
}

var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

const specHint = "write NAME[*WEIGHT]=KIND:ARGUMENTS, as in 'exact*0.5=match:exact' or 'short=expr:len(answer) < 100'"

// ParseReward reads a spec. A single reward may have no name, as
// KIND:ARGUMENTS, and is then named after its kind. The weight is 1 by default.
// Options.Validate checks whether the kind exists and its arguments are valid.
func ParseReward(spec string) (Spec, error) {
	text := strings.TrimSpace(spec)
	if text == "" {
		return Spec{}, usage(specHint, "the reward is empty")
	}
	s := Spec{Weight: 1}
	body := text
	if i := strings.IndexAny(text, "=:"); i >= 0 && text[i] == '=' {
		if err := s.parseHead(spec, strings.TrimSpace(text[:i])); err != nil {
			return Spec{}, err
		}
		body = strings.TrimSpace(text[i+1:])
	}
	kind, arguments, _ := strings.Cut(body, ":")
	s.Kind, s.Arguments = strings.TrimSpace(kind), strings.TrimSpace(arguments)
	if s.Name == "" {
		s.Name, s.unnamed = s.Kind, true
	}
	if !nameForm.MatchString(s.Kind) {
		return Spec{}, usage(specHint, "reward %q: %q is not the name of a kind", spec, s.Kind)
	}
	return s, nil
}

func (s *Spec) parseHead(spec, head string) error {
	name, weight, weighted := strings.Cut(head, "*")
	s.Name = strings.TrimSpace(name)
	if !nameForm.MatchString(s.Name) {
		return usage("a name is letters, digits, _ and -, not beginning with a digit", "reward %q: %q cannot be a name",
			spec, s.Name)
	}
	if !weighted {
		return nil
	}
	w, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
	if err != nil || math.IsNaN(w) || math.IsInf(w, 0) {
		return usage("a weight is a number such as 0.5", "reward %q: %q cannot be a weight", spec, weight)
	}
	s.Weight = w
	return nil
}

// String returns the spec in its written form, equal for equal specs.
func (s Spec) String() string {
	var b strings.Builder
	b.WriteString(s.Name)
	if s.Weight != 1 {
		b.WriteString("*" + strconv.FormatFloat(s.Weight, 'g', -1, 64))
	}
	b.WriteString("=" + s.Kind)
	if s.Arguments != "" {
		b.WriteString(":" + s.Arguments)
	}
	return b.String()
}

// given returns the rewards that specs give a row, in order: for each its own, and its parts.
func given(specs ...Spec) (out []Spec) {
	for _, s := range specs {
		if !s.NoValue {
			out = append(out, s)
		}
		for _, part := range s.Parts {
			out = append(out, Spec{Name: s.Name + "_" + part})
		}
	}
	return out
}

// checkGiven refuses names that are taken or cannot be one.
func (s *Spec) checkGiven(taken []string) error {
	if s.NoValue && s.Weight != 0 && s.Weight != 1 {
		return usage("leave the weight out: parts have weight 0", "reward %q has no value to weigh %v", s.Name, s.Weight)
	}
	for _, c := range given(*s) {
		if !nameForm.MatchString(c.Name) {
			return usage("a name is letters, digits, _ and -", "reward %q: its part %q cannot be a name", s.Name, c.Name)
		}
		if slices.Contains(taken, c.Name) {
			return usage("rename one: a part is named NAME_PART", "reward %q: two rewards would be named %q", s.Name, c.Name)
		}
		taken = append(taken[:len(taken):len(taken)], c.Name)
	}
	return nil
}

func namesOf(specs []Spec) (out []string) {
	for _, s := range specs {
		out = append(out, s.Name)
	}
	return out
}

func checkNames(specs []Spec) error {
	if len(specs) == 0 {
		return usage(specHint, "no reward is named")
	}
	seen := map[string]bool{}
	for _, s := range specs {
		if s.unnamed && len(specs) > 1 {
			return usage("write "+s.Kind+"-score="+strings.TrimPrefix(s.String(), s.Name+"="),
				"reward %q has no name; only a single reward may go without", strings.TrimPrefix(s.String(), s.Name+"="))
		}
		if seen[s.Name] {
			return usage("give each reward a name of its own", "two rewards are named %q", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

// usage returns an error of the settings; one of input if it is a missing file that the settings name.
func usage(hint, format string, args ...any) error {
	kind, err := fault.Usage, fmt.Errorf(format, args...)
	if errors.Is(err, fs.ErrNotExist) && errors.Is(err, fault.ErrInvalid) {
		kind = fault.Input
	}
	return fault.Errorf(kind, hint, "score: %w", err)
}
