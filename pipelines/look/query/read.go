package query

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/look/kept"
)

// maxAhead is the number of rows for which room is made before they are read.
const maxAhead = 4 << 20

// maxRecent is the number of orders, and of conditions, that an index remembers.
const maxRecent = 4

func newIndex(s *Sources) *Index {
	n := min(s.Base.Rows, maxAhead)
	return &Index{
		From: s, ids: ids{packed: make([]byte, 0, n*idBytes)}, groups: *newNamed(n), examples: *newNamed(n), run: newTexts(n),
		epoch:      newNumbers[int32](n),
		generation: newNumbers[int32](n), status: newTexts(n), stop: newTexts(n), failure: newTexts(n), model: newTexts(n),
		policy: newNumbers[int64](n),
		reward: make([]float64, 0, n), unscored: newTexts(n), advantage: make([]float64, 0, n), noAdvantage: newTexts(n),
		prompt:     make([]int32, 0, n),
		completion: make([]int32, 0, n), sampled: make([]int32, 0, n), drop: newTexts(n),
		orders: kept.New[[]uint32](maxRecent), finds: kept.New[set](maxRecent),
	}
}

// reward is a named reward as it is read.
type reward struct {
	Name  string   `parquet:"name,dict"`
	Value *float64 `parquet:"value,optional"`
}

// wide are the light columns of a wide row.
type wide struct {
	TrajectoryID     string   `parquet:"trajectory_id"`
	Run              string   `parquet:"run,dict"`
	ExampleID        string   `parquet:"example_id,dict"`
	Epoch            int32    `parquet:"epoch,delta"`
	Generation       int32    `parquet:"generation,delta"`
	Status           string   `parquet:"status,dict"`
	ForkedFrom       string   `parquet:"forked_from,optional"`
	ForkCall         *int32   `parquet:"fork_call,optional"`
	StopReason       string   `parquet:"stop_reason,dict"`
	FailureClass     string   `parquet:"failure_class,optional,dict"`
	Model            string   `parquet:"model,optional,dict"`
	PolicyVersion    *int64   `parquet:"policy_version,optional"`
	PromptTokens     int32    `parquet:"prompt_tokens,delta"`
	CompletionTokens int32    `parquet:"completion_tokens,delta"`
	SampledTokens    int32    `parquet:"sampled_tokens,delta"`
	Reward           *float64 `parquet:"reward,optional"`
	Rewards          []reward `parquet:"rewards,list"`
	GroupID          string   `parquet:"group_id,optional,dict"`
	Advantage        *float64 `parquet:"advantage,optional"`
}

// readBase adds the rows. Scores and groups replace rewards later.
func (x *Index) readBase(ctx context.Context, read func(int64)) error {
	own := x.From.Scores == nil && x.From.Members == nil
	for r, err := range dataset.Each[wide](ctx, x.From.Base, "", x.From.Base.All()) {
		if err != nil {
			return err
		}
		x.addBase(r)
		if own {
			x.setRewards(x.Rows, r.Reward, r.Rewards)
			x.advantage[x.Rows] = number(r.Advantage)
		}
		if x.Rows++; x.Rows%4096 == 0 {
			read(int64(x.Rows))
		}
	}
	return nil
}

func (x *Index) addBase(r *wide) {
	x.ids.add(r.TrajectoryID)
	x.run.add(r.Run)
	x.examples.add(r.ExampleID)
	x.epoch.add(r.Epoch)
	x.generation.add(r.Generation)
	x.status.add(r.Status)
	x.stop.add(r.StopReason)
	x.failure.add(r.FailureClass)
	x.model.add(r.Model)
	policy := int64(-1)
	if r.PolicyVersion != nil {
		policy = *r.PolicyVersion
	}
	x.policy.add(policy)
	x.prompt = append(x.prompt, r.PromptTokens)
	x.completion = append(x.completion, r.CompletionTokens)
	x.sampled = append(x.sampled, r.SampledTokens)
	x.reward = append(x.reward, math.NaN())
	x.advantage = append(x.advantage, math.NaN())
	if x.From.Members != nil {
		return // it names the group
	}
	group := r.GroupID
	if group == "" {
		group = formats.GroupOf(r.ExampleID, int(r.Epoch), r.ForkedFrom, r.ForkCall)
	}
	x.groups.add(group)
}

// setRewards sets the rewards of a row.
func (x *Index) setRewards(row uint32, total *float64, rewards []reward) {
	x.reward[row] = number(total)
	for i := range rewards {
		r := &rewards[i]
		at := slices.IndexFunc(x.components, func(c component) bool { return c.name == r.Name })
		if at < 0 {
			at = len(x.components)
			x.components = append(x.components,
				component{name: strings.Clone(r.Name), values: make([]float64, 0, cap(x.reward))})
		}
		c := &x.components[at]
		for len(c.values) <= int(row) {
			c.values = append(c.values, math.NaN())
		}
		c.values[row] = number(r.Value)
	}
}

// thin calls add with each row of a dataset that is aligned with the index's rows; id
// is that of its trajectory.
func thin[T any](ctx context.Context, x *Index, d *dataset.Dataset, id func(*T) string, add func(at uint32, r *T)) error {
	if d == nil {
		return nil
	}
	at := uint32(0)
	for r, err := range dataset.Each[T](ctx, d, "", d.All()) {
		if err != nil {
			return err
		}
		if at >= x.Rows || !x.ids.is(at, id(r)) {
			return &formats.InputError{Place: d.URI(), Row: int64(at),
				What: "it is about trajectory " + id(r) + ", which is not that of its base's row", Help: "make the dataset again"}
		}
		add(at, r)
		at++
	}
	return nil
}

func (x *Index) readScores(ctx context.Context) error {
	type row struct {
		TrajectoryID string   `parquet:"trajectory_id"`
		Reward       *float64 `parquet:"reward,optional"`
		Rewards      []reward `parquet:"rewards,list"`
		Failure      string   `parquet:"failure,optional,dict"`
	}
	return thin(ctx, x, x.From.Scores, func(r *row) string { return r.TrajectoryID }, func(at uint32, r *row) {
		x.setRewards(at, r.Reward, r.Rewards)
		x.unscored.add(r.Failure)
	})
}

// readMembers adds groups and advantages. Rewards are those of the members, unless the
// user named the scores.
func (x *Index) readMembers(ctx context.Context) error {
	type row struct {
		TrajectoryID string   `parquet:"trajectory_id"`
		GroupID      string   `parquet:"group_id,dict"`
		Reward       *float64 `parquet:"reward,optional"`
		Rewards      []reward `parquet:"rewards,list"`
		Advantage    *float64 `parquet:"advantage,optional"`
		NoAdvantage  string   `parquet:"no_advantage,optional,dict"`
	}
	return thin(ctx, x, x.From.Members, func(r *row) string { return r.TrajectoryID }, func(at uint32, r *row) {
		if x.From.Scores == nil {
			x.setRewards(at, r.Reward, r.Rewards)
		}
		x.groups.add(r.GroupID)
		x.advantage[at] = number(r.Advantage)
		x.noAdvantage.add(r.NoAdvantage)
	})
}

// readDecisions adds what curate decided. The rows of its table are those of its input
// in order, unless it had several.
func (x *Index) readDecisions(ctx context.Context) error {
	type row struct {
		TrajectoryID string `parquet:"trajectory_id"`
		Kept         bool   `parquet:"kept"`
		Reason       string `parquet:"reason,optional,dict"`
	}
	d := x.From.Decisions
	if d == nil {
		return nil
	}
	decided := make([]string, x.Rows)
	var sorted []uint32
	at := int64(-1)
	for r, err := range dataset.Each[row](ctx, d, formats.TableDecisions,
		dataset.Range{Rows: d.Tables[formats.TableDecisions].Rows}) {
		if err != nil {
			return err
		}
		at++
		to := at
		if at >= int64(x.Rows) || !x.ids.is(uint32(at), r.TrajectoryID) {
			if sorted == nil {
				sorted = x.byID()
				x.decisionRow = aligned(x.Rows)
			}
			if to = x.ids.within(sorted, r.TrajectoryID); to < 0 {
				continue // of another dataset
			}
			x.decisionRow[to] = uint32(at)
		}
		decided[to] = Kept
		if !r.Kept {
			decided[to] = x.intern(r.Reason)
		}
	}
	for _, text := range decided {
		x.drop.add(text)
	}
	return nil
}

// intern returns a text that lives as long as the index.
func (x *Index) intern(text string) string {
	if code, known := x.drop.number[text]; known {
		return x.drop.values[code]
	}
	text = strings.Clone(text)
	x.drop.number[text] = uint32(len(x.drop.values))
	x.drop.values = append(x.drop.values, text)
	return text
}

func aligned(rows uint32) []uint32 {
	out := make([]uint32, rows)
	for i := range out {
		out[i] = uint32(i)
	}
	return out
}

// byID returns the rows in the order of their ids.
func (x *Index) byID() []uint32 {
	rows := aligned(x.Rows)
	if x.ids.other {
		slices.SortFunc(rows, func(a, b uint32) int { return bytes.Compare(x.ids.texts.bytesOf(a), x.ids.texts.bytesOf(b)) })
		return rows
	}
	rows = resorted(rows, func(row uint32) uint64 {
		return uint64(binary.BigEndian.Uint32(x.ids.packed[row*idBytes+8:]))
	}, false)
	return resorted(rows, func(row uint32) uint64 { return binary.BigEndian.Uint64(x.ids.packed[row*idBytes:]) }, false)
}

// complete fills columns that no dataset has, and makes the groups.
func (x *Index) complete() {
	for _, c := range []*numbered[string]{x.unscored, x.noAdvantage, x.drop} {
		for len(c.narrow)+len(c.wide) < int(x.Rows) {
			c.add("")
		}
	}
	for i := range x.components {
		for c := &x.components[i]; len(c.values) < int(x.Rows); {
			c.values = append(c.values, math.NaN())
		}
	}
	x.groups.number, x.examples.number = nil, nil
	x.listMembers()
}
