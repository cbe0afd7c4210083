package score

import (
	"log/slog"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/stages"
)

// pipeline moves the rows of a slice from the base through the rewards to the
// table. Several jobs are scored concurrently, and written in order.
type pipeline struct {
	in      *input
	slice   dataset.Range
	carried []Spec          // rewards carried forward, and their parts
	stepped []string        // those among them that may have given shaped rewards
	shown   map[string]bool // whose shaped rewards other rewards read
	rewards rewardSet
	each    int // how many rewards a row has
	out     *shards.TableWriter[formats.Score]
	workers int

	failures   *dataset.Failures
	keepBroken bool
	batch      int
	meter      *stages.Meter
	log        *slog.Logger
	tally      *tally
	spare      chan *buffer         // of jobs that were written
	warned     map[string]bool      // failure classes already logged, by reward
	copied     *shards.ColumnSource // the base, whose columns of ids the scores repeat
}

// job is rows in progress; done is closed when they are scored.
type job struct {
	rows []*Row        // nil: the worker reads those of span
	span dataset.Range // of the base
	*buffer
	facts map[string]int // counts of rows, for the tally
	done  chan struct{}
}

// buffer is the memory of a job's scores, which is used again. With a new one for
// each job, thin rows take 1.16 times the processor time, and with an allocation for each
// row 1.26 times: see spans.go.
type buffer struct {
	scores  []formats.Score
	rewards []formats.NamedReward // of all of them
	numbers []float64             // that these point to

	alive  []*Row // of one call of the rewards
	values []Value
}

// buffer returns an empty buffer for the scores of n rows.
func (p *pipeline) buffer(n int) *buffer {
	var r *buffer
	select {
	case r = <-p.spare:
	default:
		r = &buffer{}
	}
	each := p.each
	r.scores = slices.Grow(r.scores[:0], n)
	r.rewards = slices.Grow(r.rewards[:0], n*each)
	r.numbers = slices.Grow(r.numbers[:0], n*(each+1))
	return r
}

// release gives a buffer back. It clears what refers to the memory of whole pages.
func (p *pipeline) release(r *buffer) {
	clear(r.scores[:cap(r.scores)])
	clear(r.rewards[:cap(r.rewards)])
	clear(r.alive[:cap(r.alive)])
	clear(r.values[:cap(r.values)])
	select {
	case p.spare <- r:
	default:
	}
}

// named returns an empty list with the capacity for a row's rewards.
func (r *buffer) named(each int) []formats.NamedReward {
	n := len(r.rewards)
	r.rewards = slices.Grow(r.rewards, each)[:n+each]
	return r.rewards[n : n : n+each]
}

func (r *buffer) number(n float64) *float64 {
	r.numbers = append(r.numbers, n)
	return &r.numbers[len(r.numbers)-1]
}
