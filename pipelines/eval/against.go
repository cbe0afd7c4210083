package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/paired"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Comparison compares policy B with policy A on the same examples. Differences are B - A.
type Comparison struct {
	A          Side    `json:"a"`
	B          Side    `json:"b"`
	Solved     float64 `json:"solved_threshold"`
	Confidence float64 `json:"confidence"`
	Paired
	Rewards []Paired `json:"rewards,omitempty"` // named rewards, if there are several
	Slices  []Paired `json:"slices,omitempty"`
}

// Side is one of the policies.
type Side struct {
	Scores       string       `json:"scores"`
	Model        string       `json:"model,omitempty"`
	Trajectories int          `json:"trajectories"`
	Failed       int          `json:"failed"`
	Unscored     int          `json:"unscored"`
	Money        *prices.Cost `json:"money,omitempty"` // of all attempts and their scores; null without prices
	Missing      []string     `json:"missing"`         // examples that only the other side attempted
	NoReward     []string     `json:"no_reward"`       // examples whose attempts here have no reward, though the other side's have
}

// Paired is the difference of a reward over the examples that have one on both sides.
type Paired struct {
	Name       string    `json:"name,omitempty"`  // of a named reward
	Field      string    `json:"field,omitempty"` // with Value, of a slice
	Value      string    `json:"value,omitempty"`
	Examples   int       `json:"examples"`
	MeanA      *float64  `json:"mean_a"` // of the examples' means
	MeanB      *float64  `json:"mean_b"`
	Difference *Estimate `json:"difference"`
	P          *float64  `json:"p"`                // of a permutation test, two-sided
	PHolm      *float64  `json:"p_holm,omitempty"` // corrected for the number of slices and further rewards
	Wins       int       `json:"wins"`             // examples in which B's mean is higher
	Losses     int       `json:"losses"`
	Ties       int       `json:"ties"`
	Gained     int       `json:"gained"` // examples that some attempt of B solves, and none of A
	Lost       int       `json:"lost"`
	McNemar    *float64  `json:"p_mcnemar"` // of Gained and Lost, exact and two-sided
	// the difference with every attempt without a reward at the lowest reward of both sides
	WithFailures *float64 `json:"difference_with_failures"`
	Better       string   `json:"better"`        // "a", "b", or "" for not decided
	Why          string   `json:"why,omitempty"` // why it is not decided

	Tokens  *Estimate `json:"tokens,omitempty"`  // difference of the tokens of an attempt
	Seconds *Estimate `json:"seconds,omitempty"` // and of its time
	Cost    *Estimate `json:"cost,omitempty"`    // of its calls, over examples of which all is known
}

// Against compares the scores at b with those at a, each a dataset or the folder of an eval. They
// must be of the same examples and by the same rewards.
func Against(ctx context.Context, a, b string, o MeasureOptions) (*Comparison, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.Confidence = cmp.Or(o.Confidence, 0.95)
	c := &Comparison{Solved: o.Solved, Confidence: o.Confidence}
	da, err := openScores(ctx, a, o)
	if err != nil {
		return nil, err
	}
	db, err := openScores(ctx, b, o)
	if err != nil {
		return nil, err
	}
	if err := sameQuestion(ctx, da, db); err != nil {
		return nil, err
	}
	as, err := c.A.read(ctx, da, o)
	if err != nil {
		return nil, err
	}
	bs, err := c.B.read(ctx, db, o)
	if err != nil {
		return nil, err
	}
	pairs := c.pairs(as, bs)
	c.Paired = compare(pairs, "", o)
	if ref := da.Ref("", ""); db.Is(&ref) {
		c.Why = "a and b are one dataset"
	}
	return c, c.parts(pairs, o)
}

// openScores opens scores, or those in the folder that Run wrote.
func openScores(ctx context.Context, uri string, o MeasureOptions) (*dataset.Dataset, error) {
	open := dataset.OpenOptions{Kind: schema.KindScores, AcceptGates: o.AcceptGates}
	d, err := dataset.Open(ctx, uri, open)
	if errors.Is(err, storage.ErrNotExist) {
		if in, missing := dataset.Open(ctx, storage.Join(uri, "score"), open); !errors.Is(missing, storage.ErrNotExist) {
			return in, missing
		}
	}
	return d, err
}

// sameQuestion refuses scores by other rewards, or of other examples: what differs then is not the policy.
func sameQuestion(ctx context.Context, a, b *dataset.Dataset) error {
	spec := manifest.Spec{Stage: b.Stage, Version: b.Version, Kind: b.Kind, Params: b.Params, Files: b.Files,
		Inputs: a.Inputs}
	if differs := manifest.Differences(&a.Manifest, spec); len(differs) > 0 || string(a.State) != string(b.State) {
		return fault.Invalid(b.URI(), "score both with the same rewards", nil,
			"its rewards are not those of %q: %s", a.URI(),
			cmp.Or(strings.Join(differs, "; "), "the rewards that were carried forward differ"))
	}
	var examples [2]any
	for i, d := range []*dataset.Dataset{a, b} {
		base, err := d.OpenBase(ctx)
		if err != nil {
			return err
		}
		examples[i] = base.Params["examples"]
	}
	if examples[0] == nil || examples[1] == nil {
		return fault.Invalid(b.URI(), "make both by rollout", nil,
			"whether its examples are those of %q cannot be told: their rollouts do not both say", a.URI())
	}
	if ea, eb := fmt.Sprint(examples[0]), fmt.Sprint(examples[1]); ea != eb {
		return fault.Invalid(b.URI(), "attempt the same examples with both", nil,
			"its examples are not those of %q (digests %s and %s)", a.URI(), eb, ea)
	}
	return nil
}

func (s *Side) read(ctx context.Context, d *dataset.Dataset, o MeasureOptions) (map[string]*example, error) {
	examples, models, money, err := read(ctx, d, o)
	if err != nil {
		return nil, err
	}
	s.Scores, s.Model, s.Missing, s.NoReward, s.Money = d.URI(), strings.Join(models, ","), []string{}, []string{}, money
	out := map[string]*example{}
	for _, e := range examples {
		if out[e.id] != nil {
			return nil, fault.Invalid(d.URI(), "compare one epoch", nil,
				"it has attempts at example %q in several epochs", e.id)
		}
		out[e.id] = e
	}
	f := figures(examples, o)
	s.Trajectories, s.Failed, s.Unscored = f.Trajectories, f.Failed, f.Unscored
	return out, nil
}

type pair struct{ a, b *example }

// pairs returns the examples that both attempted, by id, and names the others.
func (c *Comparison) pairs(as, bs map[string]*example) []pair {
	var out []pair
	for _, id := range slices.Sorted(maps.Keys(as)) {
		a, b := as[id], bs[id]
		if b == nil {
			c.B.Missing = append(c.B.Missing, id)
			continue
		}
		out = append(out, pair{a, b})
		_, inA := a.mean("")
		_, inB := b.mean("")
		switch {
		case inA && !inB:
			c.B.NoReward = append(c.B.NoReward, id)
		case inB && !inA:
			c.A.NoReward = append(c.A.NoReward, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(bs)) {
		if as[id] == nil {
			c.A.Missing = append(c.A.Missing, id)
		}
	}
	return out
}

// of returns the values of a named reward, or for "" of the total.
func (e *example) of(name string) []*float64 {
	if name == "" {
		return e.rewards
	}
	return e.named[name]
}

func (e *example) mean(name string) (float64, bool) {
	values := known(e.of(name))
	return mean(values), len(values) > 0
}

// parts compares the named rewards and the slices, and corrects their p for how many they are.
func (c *Comparison) parts(pairs []pair, o MeasureOptions) error {
	names := map[string][]*float64{}
	for _, p := range pairs {
		maps.Copy(names, p.a.named)
	}
	if len(names) > 1 {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			c.Rewards = append(c.Rewards, compare(pairs, name, o))
		}
	}
	for _, field := range o.Slices {
		by := map[string][]pair{}
		for _, p := range pairs {
			value := at(p.a.fields, field)
			by[value] = append(by[value], p)
		}
		if len(by[""]) == len(pairs) && len(pairs) > 0 {
			return noField(field, pairs[0].a.fields)
		}
		for _, value := range slices.Sorted(maps.Keys(by)) {
			s := compare(by[value], "", o)
			s.Field, s.Value = field, value
			c.Slices = append(c.Slices, s)
		}
	}
	var ps []float64
	var of []*Paired
	for _, all := range [][]Paired{c.Rewards, c.Slices} {
		for i := range all {
			if all[i].P != nil {
				ps, of = append(ps, *all[i].P), append(of, &all[i])
			}
		}
	}
	for i, p := range paired.Holm(ps) {
		of[i].PHolm = &p
		of[i].decide(p, o)
	}
	return nil
}

// compare compares a reward over pairs.
func compare(pairs []pair, name string, o MeasureOptions) Paired {
	d := Paired{Name: name}
	var values, withFailures, tokens, seconds, cost paired.Sample
	var as, bs []float64
	lowest := math.Inf(1)
	for _, p := range pairs {
		for _, v := range known(slices.Concat(p.a.of(name), p.b.of(name))) {
			lowest = min(lowest, v)
		}
	}
	for _, p := range pairs {
		if len(p.a.of(name)) > 0 && len(p.b.of(name)) > 0 {
			add(&withFailures, p.a.id, p.b.floored(name, lowest)-p.a.floored(name, lowest))
		}
		a, inA := p.a.mean(name)
		b, inB := p.b.mean(name)
		if !inA || !inB {
			continue
		}
		as, bs = append(as, a), append(bs, b)
		add(&values, p.a.id, b-a)
		if p.a.tokens > 0 && p.b.tokens > 0 {
			add(&tokens, p.a.id, p.b.each(p.b.tokens)-p.a.each(p.a.tokens))
		}
		if p.a.micros > 0 && p.b.micros > 0 {
			add(&seconds, p.a.id, (p.b.each(p.b.micros)-p.a.each(p.a.micros))/1e6)
		}
		if p.a.money != nil && p.b.money != nil {
			add(&cost, p.a.id, *p.b.money/float64(len(p.b.rewards))-*p.a.money/float64(len(p.a.rewards)))
		}
		solvedA, solvedB := p.a.solves(name, o), p.b.solves(name, o)
		tally := map[int]*int{1: &d.Wins, -1: &d.Losses, 0: &d.Ties}
		*tally[cmp.Compare(b, a)]++
		if solvedB && !solvedA {
			d.Gained++
		} else if solvedA && !solvedB {
			d.Lost++
		}
	}
	if d.Examples = len(as); d.Examples == 0 {
		d.Why = "no example has a reward on both sides"
		return d
	}
	d.MeanA, d.MeanB = new(mean(as)), new(mean(bs))
	d.Difference, d.Tokens, d.Seconds, d.Cost = band(values, o), band(tokens, o), band(seconds, o), band(cost, o)
	if e := d.Cost; e != nil {
		if e.Value = prices.Round(e.Value); e.Low != nil {
			*e.Low, *e.High = prices.Round(*e.Low), prices.Round(*e.High)
		}
	}
	d.P, d.McNemar = new(values.P()), new(paired.McNemar(d.Gained, d.Lost))
	d.WithFailures = new(mean(withFailures.Differences))
	d.decide(*d.P, o)
	return d
}

func add(s *paired.Sample, id string, difference float64) {
	s.IDs, s.Differences = append(s.IDs, id), append(s.Differences, difference)
}

// band returns a sample's mean and its band; nil of nothing.
func band(s paired.Sample, o MeasureOptions) *Estimate {
	if len(s.IDs) == 0 {
		return nil
	}
	e := &Estimate{Value: mean(s.Differences), Examples: len(s.IDs)}
	if low, high := s.Band(o.Confidence); !math.IsNaN(low) {
		e.Low, e.High = &low, &high
	}
	return e
}

// floored is the mean of the attempts, those without a reward at the lowest.
func (e *example) floored(name string, lowest float64) float64 {
	sum := 0.0
	for _, v := range e.of(name) {
		if v == nil {
			v = &lowest
		}
		sum += *v
	}
	return sum / float64(len(e.of(name)))
}

func (e *example) each(sum int64) float64 { return float64(sum) / float64(len(e.rewards)) }

func (e *example) solves(name string, o MeasureOptions) bool {
	return slices.ContainsFunc(e.of(name), func(v *float64) bool { return v != nil && *v >= o.Solved })
}

// decide says which policy is better, if the band, p and the failures agree.
func (d *Paired) decide(p float64, o MeasureOptions) {
	d.Better, d.Why = "", ""
	e, differ, most := d.Difference, d.Wins+d.Losses, 1-o.Confidence
	switch {
	case differ == 0:
		d.Why = "no example differs"
	case 2/math.Pow(2, float64(differ)) > most:
		d.Why = fmt.Sprintf("too few examples differ (%d) for any result to be certain at %g %%", differ, 100*o.Confidence)
	case e.Low == nil || *e.Low <= 0 && *e.High >= 0 || p > most:
		d.Why = "the difference may be chance"
	case e.Value*(*d.WithFailures) <= 0:
		d.Why = fmt.Sprintf("with failures as the lowest reward the difference is %+.4g", *d.WithFailures)
	case e.Value > 0:
		d.Better = "b"
	default:
		d.Better = "a"
	}
}
