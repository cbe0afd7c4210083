package curate

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"
	"math"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/spill"
)

// counts are what some attempts at one example by one policy version gave.
type counts struct {
	ID                               string
	Version                          *int64
	Attempts, Failed, Scored, Passes int32
	Mean, Squares                    float64 // of rewards: their mean, and the sum of squared distances from it
	Prompt, Completion               int64   // tokens
	Last                             int32   // epoch
	Next                             int32   // the number after the greatest generation in this epoch, of forks too
}

// merge adds counts of the same example and version, means by Chan's formula.
func (c *counts) merge(x *counts) {
	if x.Scored > 0 {
		share := float64(x.Scored) / (float64(c.Scored) + float64(x.Scored))
		d := plus(x.Mean, -c.Mean)
		c.Squares = plus(plus(c.Squares, x.Squares), float64(float64(d*float64(float64(c.Scored)*share))*d))
		c.Mean = plus(c.Mean, float64(d*share))
	}
	c.Attempts, c.Failed, c.Scored, c.Passes = c.Attempts+x.Attempts, c.Failed+x.Failed, c.Scored+x.Scored, c.Passes+x.Passes
	c.Prompt, c.Completion = c.Prompt+x.Prompt, c.Completion+x.Completion
	c.Last, c.Next = max(c.Last, x.Last), max(c.Next, x.Next)
}

// exampleCounts are the counts of all examples. There may be more than memory holds.
type exampleCounts struct {
	sorter     *spill.Sorter
	last       counts // of adjacent rows of one example and version
	rows       uint64
	key, value []byte
}

// add adds the counts of one row. The order of rows decides how means are rounded.
func (e *exampleCounts) add(c *counts) error {
	same := e.rows > 0 && c.ID == e.last.ID && (c.Version == nil) == (e.last.Version == nil) &&
		(c.Version == nil || *c.Version == *e.last.Version)
	if e.rows++; same {
		e.last.merge(c)
		return nil
	}
	if err := e.flush(); err != nil {
		return err
	}
	e.last = counts{ID: strings.Clone(c.ID)}
	if c.Version != nil {
		e.last.Version = new(*c.Version)
	}
	e.last.merge(c)
	return nil
}

// flush adds the counts that were collected to the sorter, by example, version and row.
func (e *exampleCounts) flush() error {
	if e.last.Attempts == 0 && e.last.Next == 0 {
		return nil
	}
	r := Rank{Text: e.last.ID, Value: 1}
	if v := e.last.Version; v != nil {
		r.Value, r.Lot = 0, *v
	}
	e.key = binary.BigEndian.AppendUint64(appendRank(e.key[:0], r), e.rows)
	e.value = spill.Append(e.value[:0], &e.last)
	return e.sorter.Add(e.key, e.value)
}

// each yields the counts of every example and version; one is valid until the next.
func (e *exampleCounts) each() iter.Seq2[*counts, error] {
	return func(yield func(*counts, error) bool) {
		var sum, c counts
		var key []byte
		for r, err := range e.sorter.Sorted() {
			if err != nil {
				yield(nil, err)
				return
			}
			spill.Decode(r.Value, &c)
			if of := r.Key[:len(r.Key)-8]; !bytes.Equal(of, key) {
				if key != nil && !yield(&sum, nil) {
					return
				}
				key, sum = append(key[:0], of...), counts{ID: c.ID, Version: c.Version}
			}
			sum.merge(&c)
		}
		if key != nil {
			yield(&sum, nil)
		}
	}
}

// writeExamples writes the table _examples, and a drawn plan, all of it in the first shard.
func (o *Options) writeExamples(ctx context.Context, in *input, p *plan, shard *dataset.Shard,
	to *planTableWriter) error {
	out := dataset.NewTable[formats.ExampleStats](shard, formats.TableExamples, -1)
	if o.Out.Shard.Of().Index > 0 {
		return nil
	}
	e, err := in.counted(ctx)
	defer e.sorter.Close()
	if err != nil {
		return err
	}
	if err := e.write(ctx, out); err != nil || !o.PlanTable.drawn() {
		return err
	}
	return o.drawPlan(ctx, in, p, e, to)
}

// counted returns the counts of the epoch's attempts, and of those in the table
// _examples of --previous. Replayed epochs were counted before. The caller closes the sorter.
func (in *input) counted(ctx context.Context) (*exampleCounts, error) {
	e := &exampleCounts{sorter: spill.New(in.groups.spill.Dir, in.groups.spill.Memory)}
	err := in.countPrevious(ctx, e)
	if err == nil {
		err = in.countAttempts(ctx, e)
	}
	if err == nil {
		err = e.flush()
	}
	return e, err
}

func (in *input) countPrevious(ctx context.Context, e *exampleCounts) error {
	if in.previous == nil {
		return nil
	}
	rows := in.previous.Tables[formats.TableExamples].Rows
	if rows == 0 {
		return nil // an older version wrote it
	}
	for x, err := range dataset.Each[formats.ExampleStats](ctx, in.previous, formats.TableExamples, dataset.Range{Rows: rows}) {
		if err != nil {
			return err
		}
		if int(x.LastEpoch) >= in.epoch {
			return formats.Invalid(in.previous.URI(), "give --previous the dataset that curate wrote in the epoch before", nil,
				"--previous: table %s has attempts of epoch %d, and this is epoch %d", formats.TableExamples, x.LastEpoch, in.epoch)
		}
		std := number(x.StdPop)
		c := counts{ID: x.ExampleID, Version: x.PolicyVersion, Attempts: x.Attempts, Failed: x.Failed, Scored: x.Scored, Passes: x.Passes,
			Mean: number(x.Mean), Squares: float64(float64(std*std) * float64(x.Scored)), Prompt: x.PromptTokens, Completion: x.CompletionTokens,
			Last: x.LastEpoch}
		if err := e.add(&c); err != nil {
			return err
		}
	}
	return nil
}

func (in *input) countAttempts(ctx context.Context, e *exampleCounts) error {
	type member struct {
		ExampleID  string   `parquet:"example_id,dict"`
		Generation int32    `parquet:"generation,delta"`
		ForkCall   *int32   `parquet:"fork_call,optional"`
		Status     string   `parquet:"status,dict"`
		Reward     *float64 `parquet:"reward,optional"`
	}
	type attempt struct {
		PolicyVersion    *int64 `parquet:"policy_version,optional"`
		PromptTokens     int32  `parquet:"prompt_tokens,delta"`
		CompletionTokens int32  `parquet:"completion_tokens,delta"`
	}
	s := in.sets[0]
	solved := s.solved()
	next, stop := iter.Pull2(dataset.Each[attempt](ctx, s.base, "", s.base.All()))
	defer stop()
	for m, err := range dataset.Each[member](ctx, s.members, "", s.members.All()) {
		if err != nil {
			return err
		}
		a, err, _ := next()
		if err != nil {
			return err
		}
		c := counts{ID: m.ExampleID, Version: a.PolicyVersion, Next: m.Generation + 1}
		if m.ForkCall == nil && m.Status != formats.StatusSkipped {
			c.Attempts, c.Last = 1, int32(in.epoch)
			c.Prompt, c.Completion = int64(a.PromptTokens), int64(a.CompletionTokens)
			switch {
			case m.Status == formats.StatusFailed:
				c.Failed = 1
			case m.Reward != nil:
				c.Scored, c.Mean = 1, *m.Reward
				if c.Mean >= solved {
					c.Passes = 1
				}
			}
		}
		if err := e.add(&c); err != nil {
			return err
		}
	}
	return nil
}

// solved returns the reward from which group counted a member as solved.
func (s *set) solved() float64 {
	if x, known := s.members.Params["solved-threshold"].(float64); known {
		return x
	}
	if s.groupState != nil && s.groupState.Solved != nil {
		return *s.groupState.Solved
	}
	return 1 // its default
}

// write writes the table _examples.
func (e *exampleCounts) write(ctx context.Context, out *dataset.TableWriter[formats.ExampleStats]) error {
	var rows []formats.ExampleStats
	for c, err := range e.each() {
		if err != nil {
			return err
		}
		if c.Attempts == 0 {
			continue
		}
		row := formats.ExampleStats{ExampleID: c.ID, PolicyVersion: c.Version, Attempts: c.Attempts, Failed: c.Failed,
			Scored: c.Scored, Passes: c.Passes, PromptTokens: c.Prompt, CompletionTokens: c.Completion, LastEpoch: c.Last}
		if c.Scored > 0 {
			row.Mean, row.StdPop = new(c.Mean), new(math.Sqrt(c.Squares/float64(c.Scored)))
		}
		if rows = append(rows, row); len(rows) == 1000 {
			if err := out.Write(ctx, rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	return out.Write(ctx, rows)
}
