package pairs

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
)

// Writer writes pairs and labels, group by group.
type Writer struct {
	Settings
	out          *shards.TableWriter[formats.Pair]  // nil: no pairs
	label        *shards.TableWriter[formats.Label] // nil: no labels
	minDesirable float64                            // lowest reward of a desirable answer
	Facts        map[string]float64

	of   *formats.Member // one of the group, for its pairs' ids
	some []formats.Pair  // made and not written
	made map[xxh3.Uint128]bool
	why  string // the fact of the group's first refused pair; "" for none

	bytes, labelBytes int // of the row groups being written
}

// pairsAtOnce is how many pairs are held in memory: each repeats its prompt,
// and their number grows with the square of the group's size.
const pairsAtOnce = 16

// OpenRows reads the columns of the base from which pairs are made.
func OpenRows(ctx context.Context, base *dataset.Dataset, r dataset.Range) (*dataset.Reader[formats.Trajectory], error) {
	return dataset.NewReaderOf[formats.Trajectory](ctx, base, r,
		[]string{"trajectory_id", "example_id", "messages", "calls", "tool_sets", "candidates"})
}

// New creates the tables that are asked for. Answers are desirable, and scores equal,
// as the numbers say.
func New(shard *shards.Shard, pairs Settings, labels bool, minDesirable, tolerance float64) *Writer {
	p := &Writer{Settings: pairs, minDesirable: minDesirable, Facts: map[string]float64{}}
	p.tolerance = tolerance
	if pairs.Mode != "" {
		p.out = shards.NewTable[formats.Pair](shard, schema.TablePairs, -1)
		p.Facts[factPairs] = 0
	}
	if labels {
		p.label = shards.NewTable[formats.Label](shard, schema.TableLabels, -1)
		p.Facts[FactDesirable], p.Facts[FactUndesirable] = 0, 0
	}
	return p
}

func (p *Writer) refuse(fact string) {
	p.Facts[fact]++
	p.why = cmp.Or(p.why, fact)
}

// Group makes the pairs and labels of a group from its members' messages.
func (p *Writer) Group(ctx context.Context, members []formats.Member, all []formats.Trajectory) error {
	if p.label != nil {
		if err := p.labels(ctx, members, all); err != nil {
			return err
		}
	}
	if p.out == nil {
		return nil
	}
	p.of, p.why = &members[0], ""
	clear(p.made)
	before, make := p.Facts[factPairs], p.trajectories
	if p.From == Candidates {
		make = p.candidates
	}
	err := make(ctx, members, all)
	if err = errors.Join(err, p.flush(ctx)); p.Facts[factPairs] == before {
		p.Facts[factUnpaired+strings.TrimPrefix(cmp.Or(p.why, factPairsFew), factPairs+"_")]++
	}
	return err
}

func (p *Writer) put(ctx context.Context, x formats.Pair) error {
	x.GroupID, x.Epoch = p.of.GroupID, p.of.Epoch
	if p.some = append(p.some, x); len(p.some) < pairsAtOnce {
		return nil
	}
	return p.flush(ctx)
}

func (p *Writer) flush(ctx context.Context) error {
	p.Facts[factPairs] += float64(len(p.some))
	err := p.out.Write(ctx, p.some)
	for i := range p.some {
		p.bytes += p.some[i].Size()
		if _, reason := trainset.Compared(&p.some[i]); reason != "" {
			p.Facts[factPairsUnfit+reason]++
		}
	}
	clear(p.some)
	p.some = p.some[:0]
	if err != nil || p.bytes < formats.PairBytes {
		return err
	}
	p.bytes = 0
	return p.out.EndRowGroup()
}

// trajectories pairs whole members by reward.
func (p *Writer) trajectories(ctx context.Context, members []formats.Member, all []formats.Trajectory) error {
	var valid []int
	var scores []float64
	var paths [][]int
	for i := range members {
		if m := &members[i]; m.NoAdvantage != training.NoAdvantageFailed && m.Reward != nil {
			valid, scores, paths = append(valid, i), append(scores, *m.Reward), append(paths, all[i].Main())
		}
	}
	return p.take(ctx, p.options(scores, p.refuse), func(o option) (formats.Pair, string) {
		a, b := &all[valid[o.better]], &all[valid[o.worse]]
		pathA, pathB := paths[o.better], paths[o.worse]
		shared, refused := sharedPrompt(a, b, pathA, pathB)
		if refused != "" {
			return formats.Pair{}, refused
		}
		tailA, tailB := pathA[shared:], pathB[shared:]
		if p.At == FirstDifference {
			tailA, tailB = tailA[:1], tailB[:1]
		}
		return formats.Pair{
			ExampleID: a.ExampleID, ChosenID: a.TrajectoryID, RejectedID: b.TrajectoryID,
			ChosenIndex: int32(pathA[shared]), RejectedIndex: int32(pathB[shared]),
			ChosenScore: scores[o.better], RejectedScore: scores[o.worse],
			Prompt: chat.JSON(a, pathA[:shared]), Chosen: chat.JSON(a, tailA), Rejected: chat.JSON(b, tailB),
			Tools: chat.ToolsOf(a, pathA[shared]),
		}, ""
	})
}

// turn is a turn with its competing candidates.
type turn struct {
	name string
	of   []candidate
}

type candidate struct {
	t     *formats.Trajectory
	index int
}

func (c candidate) get() *formats.Candidate { return &c.t.Candidates[c.index] }

// candidates pairs the alternatives of each turn by the agent's scores.
func (p *Writer) candidates(ctx context.Context, members []formats.Member, all []formats.Trajectory) error {
	for _, turn := range p.turns(members, all) {
		scores := make([]float64, len(turn.of))
		for i, c := range turn.of {
			scores[i] = *c.get().Score
		}
		err := p.take(ctx, p.options(scores, p.refuse), func(o option) (formats.Pair, string) {
			a, b := turn.of[o.better], turn.of[o.worse]
			if !p.nat && a.get().Content == b.get().Content {
				return formats.Pair{}, factPairsSame
			}
			x := formats.Pair{
				ExampleID: a.t.ExampleID, Turn: turn.name, ChosenID: a.t.TrajectoryID, RejectedID: b.t.TrajectoryID,
				ChosenIndex: int32(a.index), RejectedIndex: int32(b.index),
				ChosenScore: scores[o.better], RejectedScore: scores[o.worse],
				Prompt: "[]", Chosen: chat.AnswerJSON(a.get().Content), Rejected: chat.AnswerJSON(b.get().Content),
			}
			if m := int(a.get().Message); m >= 0 && m < len(a.t.Messages) {
				path := a.t.Path(m)
				x.Prompt, x.Tools = chat.JSON(a.t, path[:len(path)-1]), chat.ToolsOf(a.t, m)
			} else if !p.nat {
				return formats.Pair{}, factPairsPrompts
			}
			return x, ""
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// turns gathers candidates with a score, in order of appearance.
func (p *Writer) turns(members []formats.Member, all []formats.Trajectory) []turn {
	var out []turn
	place := map[[2]string]int{}
	for i := range all {
		if members[i].NoAdvantage == training.NoAdvantageFailed {
			continue
		}
		t := &all[i]
		for k := range t.Candidates {
			c := &t.Candidates[k]
			key, ok := p.key(t, c)
			if !ok {
				continue
			}
			at, known := place[key]
			if !known {
				at = len(out)
				place[key] = at
				out = append(out, turn{name: key[1]})
			}
			out[at].of = append(out[at].of, candidate{t, k})
		}
	}
	return out
}

// key returns the turn in which a candidate competes, by trajectory and name, if any.
func (p *Writer) key(t *formats.Trajectory, c *formats.Candidate) ([2]string, bool) {
	if c.Score == nil || math.IsNaN(*c.Score) || math.IsInf(*c.Score, 0) {
		return [2]string{}, false
	}
	if p.nat {
		return [2]string{"", c.Turn}, c.Turn != ""
	}
	name := strconv.Itoa(int(c.Message))
	if c.Turn != "" {
		name = c.Turn
	}
	if c.Message < 0 {
		p.refuse(factPairsPrompts)
		return [2]string{}, false
	}
	return [2]string{t.TrajectoryID + " " + strconv.Itoa(int(c.Message)), name}, true
}

// take makes pairs until the limit.
func (p *Writer) take(ctx context.Context, options []option, make func(option) (formats.Pair, string)) error {
	taken := 0
	for i, o := range options {
		if p.Limit > 0 && taken == p.Limit {
			p.Facts[factPairsLimit] += float64(len(options) - i)
			break
		}
		x, refused := make(o)
		if refused == "" && p.Once && p.again(&x) {
			if refused = factPairsAgain; p.nat {
				taken++ // NAT limits first
			}
		}
		if refused != "" {
			p.refuse(refused)
			continue
		}
		taken++
		x.Margin = o.margin
		if err := p.put(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// again reports whether an earlier pair of the group is identical.
func (p *Writer) again(x *formats.Pair) bool {
	if p.made == nil {
		p.made = map[xxh3.Uint128]bool{}
	}
	h := xxh3.New()
	for _, text := range []string{x.Prompt, x.Chosen, x.Rejected} {
		_, _ = h.WriteString(text)
		_, _ = h.Write([]byte{0})
	}
	sum := h.Sum128()
	was := p.made[sum]
	p.made[sum] = true
	return was
}

// sharedPrompt finds where two main paths diverge: the number of equal messages. It
// returns a fact as refused if they are not two answers to one prompt.
func sharedPrompt(a, b *formats.Trajectory, pathA, pathB []int) (shared int, refused string) {
	shared = chat.Shared(a, b, pathA, pathB)
	switch {
	case shared == len(pathA) && shared == len(pathB):
		return shared, factPairsSame
	case shared == len(pathA) || shared == len(pathB):
		return shared, factPairsPrompts
	}
	i, j := pathA[shared], pathB[shared]
	if !a.Trained(i) || !b.Trained(j) || chat.ToolsOf(a, i) != chat.ToolsOf(b, j) {
		return shared, factPairsPrompts
	}
	return shared, ""
}
