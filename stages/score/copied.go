package score

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// Values of --only besides the name of a reward.
const (
	onlyMissing = "missing" // rows for which the reward was never computed
	onlyFailed  = "failed"  // rows for which it was computed without a value
	onlyChanged = "changed" // every row, when its spec, a file or the seed changed
)

// copySource is the score dataset whose values are copied where no new ones are asked for.
type copySource struct {
	*dataset.Dataset
	specs      map[string]Spec
	modes      []string // of --only
	all        map[string]bool
	sumChanged bool // the sum of the shaped rewards has changed

	extended bool // its base is a dataset that this base extends
	steps    map[string]bool
}

// openCopies opens Options.From; the default is In if that holds scores.
func (src *input) openCopies(ctx context.Context, o Options) error {
	d := src.scores
	if o.From.URI != "" {
		var err error
		if d, err = dataset.Open(ctx, o.From.URI,
			dataset.OpenOptions{AcceptGates: o.From.AcceptGates, Kind: schema.KindScores}); err != nil {
			return err
		}
	}
	if d == nil {
		return usage("name the scores to carry over with --from", "--only %s: there are no earlier scores",
			strings.Join(o.Only, ", "))
	}
	same := src.base.Is(d.Base) && d.Rows == src.base.Rows
	extended := false
	if !same {
		var err error
		if extended, err = extends(ctx, src.base, d.Base); err != nil {
			return err
		}
	}
	if !same && !extended {
		return fault.Invalid(d.URI(), "carry over scores of the same trajectories", nil, "its rows are not those of %q",
			src.base.URI())
	}
	var s state
	if err := json.Unmarshal(d.State, &s); err != nil {
		return fault.Invalid(d.URI(), "score the trajectories again", err,
			"its manifest does not say which rewards it has")
	}
	src.copies = &copySource{Dataset: d, extended: extended, specs: map[string]Spec{}, modes: o.Only, all: map[string]bool{},
		steps: map[string]bool{}}
	for _, spec := range s.Rewards {
		src.copies.specs[spec.Name] = spec
	}
	if len(o.Rewards) == 0 {
		src.copiedSpecs = s.Rewards
	}
	return nil
}

// compare finds which rewards have to be computed for every row, and refuses to
// mix the values of two definitions unless asked to.
func (e *copySource) compare(ctx context.Context, o Options, rewards rewardSet, names []string) error {
	files, err := rewards.files(ctx, o)
	if err != nil {
		return err
	}
	for _, mode := range e.modes {
		if mode != onlyMissing && mode != onlyFailed && mode != onlyChanged && !has(o.Rewards, mode) {
			known := append(slices.Clip(names), onlyMissing, onlyFailed, onlyChanged)
			return usage(plugin.Nearest(mode, known, "choose among "+strings.Join(known, ", ")),
				"--only %s: there is no such reward", mode)
		}
	}
	for _, c := range rewards {
		was, known := e.specs[c.Name]
		redefined := known && (was.Kind != c.Kind ||
			deciding(o.Registry, was).Arguments != deciding(o.Registry, c.Spec).Arguments)
		changed := !known || redefined || e.otherSeed(o, c) || e.Version != version ||
			!sameFiles(ctx, c, e.Files, files, o)
		asked := slices.Contains(e.modes, c.Name)
		switch {
		case asked || changed && slices.Contains(e.modes, onlyChanged):
			e.all[c.Name] = true
		case known && (was.NoValue != c.Spec.NoValue || !slices.Equal(was.Parts, c.Spec.Parts)):
			return usage("add --only changed, or --only "+c.Name, "reward %q gives %q in %q and %q now", c.Name,
				namesOf(given(was)), e.URI(), namesOf(c.given))
		case redefined:
			return usage("add --only changed, or --only "+c.Name, "reward %q is %s in %q and %s now", c.Name, was,
				e.URI(), c.Spec)
		case known && changed:
			o.Logger().Warn("the definition of a reward has changed: rows carried over keep their earlier value", "reward",
				c.Name, "from", e.URI())
		}
		e.sumChanged = e.sumChanged || !known || was.Weight != c.Weight
		e.steps[c.Name] = e.Facts[factSteps(c.Name)] > 0
	}
	e.sumChanged = e.sumChanged || len(e.specs) != len(names)
	return nil
}

func (e *copySource) otherSeed(o Options, c component) bool {
	kind, _ := o.Registry.Find(c.Kind)
	was, _ := e.Int("seed")
	return kind.Seeded && was != o.Seed
}

// sameFiles reports whether the files of a reward are unchanged. Files of
// --depends-on count for every reward.
func sameFiles(ctx context.Context, c component, then, now map[string]string, o Options) bool {
	own, err := rewardSet{c}.files(ctx, o)
	if err != nil {
		return false
	}
	for name := range own {
		if then[name] != now[name] {
			return false
		}
	}
	return true
}

// markRecomputed decides which rows need any computation, before any is done.
func (e *copySource) markRecomputed(rows []*Row, rewards rewardSet) {
	for _, r := range rows {
		e.markRow(r, rewards)
	}
	if !slices.ContainsFunc(rewards, func(c component) bool { return c.Relative }) {
		return
	}
	again := map[groupKey]bool{}
	for _, r := range rows {
		again[groupOf(r)] = again[groupOf(r)] || r.copied.recomputed
	}
	for _, r := range rows {
		r.copied.recomputed = again[groupOf(r)]
	}
}

func (e *copySource) markRow(r *Row, rewards rewardSet) {
	b := r.copied
	b.recomputed = e.sumChanged
	for name, was := range b.rewards {
		if now, known := r.Reward(name); known && !sameValue(was.Value, now) {
			b.recomputed = true
		}
	}
	for _, c := range rewards {
		b.recomputed = b.recomputed || e.requested(r, c)
	}
}

// requested reports whether --only requests this reward for this row.
func (e *copySource) requested(r *Row, c component) bool {
	if e.all[c.Name] {
		return true
	}
	own := c.given
	if !c.Spec.NoValue {
		own = own[:1] // a part may be null in a row that has a value
	}
	return slices.ContainsFunc(own, func(s Spec) bool {
		was, known := r.copied.rewards[s.Name]
		if !known || was.Failure == outcomes.RewardMissing {
			return slices.Contains(e.modes, onlyMissing)
		}
		return was.Failure != "" && slices.Contains(e.modes, onlyFailed)
	})
}

// due reports whether a reward of a row has to be computed: it is requested, or reads another
// one that changed, or is a part of the shaped rewards, of which only the sum was kept.
func (e *copySource) due(r *Row, c component) bool {
	if e.requested(r, c) || r.copied.recomputed && e.steps[c.Name] {
		return true
	}
	for _, name := range c.Reads {
		now, _ := r.Reward(name)
		if was := r.copied.rewards[name]; !sameValue(was.Value, now) {
			return true
		}
	}
	return false
}

func sameValue(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }

// notComputed is the error of a row that only --only left out.
const notComputed = "it was not computed for this row; --only missing does"

// split separates the rows for which a reward is due from those that keep theirs. If the members
// of a group are compared with one another, all are due or none.
func (e *copySource) split(rows []*Row, c component) (due, kept []*Row) {
	relative := c.Relative
	for first := 0; first < len(rows); {
		end := first + 1
		for relative && end < len(rows) && groupOf(rows[first]) == groupOf(rows[end]) {
			end++
		}
		if slices.ContainsFunc(rows[first:end], func(r *Row) bool { return e.due(r, c) }) {
			due = append(due, rows[first:end]...)
		} else {
			kept = append(kept, rows[first:end]...)
		}
		first = end
	}
	return due, kept
}

// sortedModes returns --only as the manifest stores it.
func sortedModes(modes []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(modes)))
}
