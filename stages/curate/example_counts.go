package curate

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/storage/fault"
)

// counts is a row of _examples in the making.
type counts struct {
	decision.ExampleStats         // all but the moments of the rewards
	Mean, Squares         float64 // their mean, and the sum of squared distances from it
	Next                  int32   // the number after the greatest generation in this epoch, of forks too
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
	c.PromptTokens, c.CompletionTokens = c.PromptTokens+x.PromptTokens, c.CompletionTokens+x.CompletionTokens
	c.LastEpoch, c.Next = max(c.LastEpoch, x.LastEpoch), max(c.Next, x.Next)
}

// exampleCounts are the counts of all examples. There may be more than memory holds.
type exampleCounts struct {
	sorter   *spill.Sorter
	last     counts // of adjacent rows with one key
	key, buf []byte
	rows     uint64
}

// add adds counts. Their order decides how moments are rounded.
func (e *exampleCounts) add(c *counts) error {
	r := Rank{Text: c.ExampleID, Value: 1} // an unknown version is the last
	if c.PolicyVersion != nil {
		r.Value, r.Lot = 0, *c.PolicyVersion
	}
	if e.buf = appendRank(e.buf[:0], r); !bytes.Equal(e.buf, e.key) {
		if err := e.flush(); err != nil {
			return err
		}
		e.key, e.last = append(e.key[:0], e.buf...), counts{}
		if e.last.ExampleID = strings.Clone(c.ExampleID); c.PolicyVersion != nil {
			e.last.PolicyVersion = new(r.Lot)
		}
	}
	e.rows++
	e.last.merge(c)
	return nil
}

func (e *exampleCounts) flush() error {
	if e.key == nil {
		return nil
	}
	return e.sorter.Add(binary.BigEndian.AppendUint64(slices.Clone(e.key), e.rows), spill.Append(nil, &e.last))
}

// each yields the counts of every example and version, in order; one is valid until the next.
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
			if of := r.Key[:len(r.Key)-8]; bytes.Equal(of, key) {
				sum.merge(&c)
				continue
			} else if key != nil && !yield(&sum, nil) {
				return
			} else {
				key, sum = append(key[:0], of...), c
			}
		}
		if key != nil {
			yield(&sum, nil)
		}
	}
}

// addPrevious adds the table _examples of --previous, if a version that knows it wrote that.
func (e *exampleCounts) addPrevious(ctx context.Context, in *input) error {
	if in.previous == nil || in.previous.Tables[schema.TableExamples].Rows == 0 {
		return nil
	}
	all := dataset.Range{Rows: in.previous.Tables[schema.TableExamples].Rows}
	for x, err := range dataset.Each[decision.ExampleStats](ctx, in.previous, schema.TableExamples, all) {
		if err == nil && int(x.LastEpoch) >= in.epoch {
			err = fault.Invalid(in.previous.URI(),
				"give --previous the dataset that curate wrote in the epoch before", nil,
				"--previous: table %s has attempts of epoch %d, and this is epoch %d", schema.TableExamples, x.LastEpoch, in.epoch)
		}
		if err != nil {
			return err
		}
		std := number(x.StdPop)
		c := counts{ExampleStats: *x, Mean: number(x.Mean), Squares: float64(float64(std*std) * float64(x.Scored))}
		if err := e.add(&c); err != nil {
			return err
		}
	}
	return nil
}

// addAttempts adds the attempts of the epoch. Those of other epochs were counted before.
func (e *exampleCounts) addAttempts(ctx context.Context, in *input) error {
	type attempt struct {
		PolicyVersion    *int64 `parquet:"policy_version,optional"`
		PromptTokens     int32  `parquet:"prompt_tokens,delta"`
		CompletionTokens int32  `parquet:"completion_tokens,delta"`
	}
	s := in.sets[0]
	solved := 1.0 // group's default
	if n, known := s.members.Params["solved-threshold"].(json.Number); known {
		solved, _ = n.Float64()
	}
	next, stop := iter.Pull2(dataset.Each[attempt](ctx, s.base, "", s.base.All()))
	defer stop()
	for m, err := range dataset.Each[memberCounts](ctx, s.members, "", s.members.All()) {
		if err != nil {
			return err
		}
		a, err, _ := next()
		if err != nil {
			return err
		}
		c := counts{Next: m.Generation + 1}
		if c.ExampleID, c.PolicyVersion = m.ExampleID, a.PolicyVersion; m.ForkCall == nil && m.Status != outcomes.StatusSkipped {
			c.Attempts, c.LastEpoch = 1, int32(in.epoch)
			c.PromptTokens, c.CompletionTokens = int64(a.PromptTokens), int64(a.CompletionTokens)
			m.count(&c, solved)
		}
		if err := e.add(&c); err != nil {
			return err
		}
	}
	return e.flush()
}

// memberCounts are the columns of a member that are counted.
type memberCounts struct {
	ExampleID  string   `parquet:"example_id,dict"`
	Generation int32    `parquet:"generation,delta"`
	ForkCall   *int32   `parquet:"fork_call,optional"`
	Status     string   `parquet:"status,dict"`
	Reward     *float64 `parquet:"reward,optional"`
}

func (m *memberCounts) count(c *counts, solved float64) {
	switch {
	case m.Status == outcomes.StatusFailed:
		c.Failed = 1
	case m.Reward != nil:
		if c.Scored, c.Mean = 1, *m.Reward; c.Mean >= solved {
			c.Passes = 1
		}
	}
}
