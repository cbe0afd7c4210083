package score

import (
	"errors"
	"maps"
	"strings"
)

// built are a run's rewards, in the order they are computed.
type built []component

type component struct {
	Spec
	Reward
}

// build makes every reward; carried are the names that come before them.
// Nothing is started yet.
func build(o Options, carried []string, partial bool) (built, error) {
	o = o.defaults()
	var out built
	earlier := carried
	for _, spec := range o.Rewards {
		kind, ok := o.Kinds.find(spec.Kind)
		if !ok {
			return nil, usage(suggest(spec.Kind, o.Kinds.Names()), "reward %q: there is no kind %q", spec.String(), spec.Kind)
		}
		reward, err := kind.New(Setup{Spec: spec, Earlier: earlier, Partial: partial, Seed: o.Seed, Timeout: o.Timeout, Judging: o.Judging, Log: o.Logger()})
		if err != nil {
			return nil, usage(kind.Name+": "+kind.Usage, "reward %q: %w", spec.Name, err)
		}
		out = append(out, component{spec, reward})
		earlier = append(earlier[:len(earlier):len(earlier)], spec.Name)
	}
	return out, nil
}

func (b built) close() error {
	var errs []error
	for _, c := range b {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func (b built) needs() Needs {
	most := Head
	for _, c := range b {
		most = max(most, c.Needs())
	}
	return most
}

// files digests what the rewards depend on, and what --uses adds.
func (b built) files(uses []string) (map[string]string, error) {
	out, err := digestFiles(uses)
	if err != nil {
		return nil, err
	}
	for _, c := range b {
		if filer, ok := c.Reward.(Filer); ok {
			digests, err := digestFiles(filer.Files())
			if err != nil {
				return nil, err
			}
			maps.Copy(out, digests)
		}
		if program, ok := c.Reward.(Program); ok {
			digests, err := digestWords(program.Words())
			if err != nil {
				return nil, err
			}
			maps.Copy(out, digests)
		}
	}
	return out, nil
}

// suggest is a hint that names the nearest known name, or all of them.
func suggest(name string, known []string) string {
	best, distance := "", len(name)/2+1
	for _, k := range known {
		if d := editDistance(strings.ToLower(name), k); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	return "there are " + strings.Join(known, ", ")
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
