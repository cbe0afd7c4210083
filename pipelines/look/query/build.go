package query

import (
	"context"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/pipelines/look/kept"
	"github.com/rollmill/rollmill/storage/fault"
)

// MaxRows is how many rows an index may have. Building one takes about 130 bytes of memory
// a row.
const MaxRows = 20_000_000

// Build reads the light columns. read is called now and then with the number of rows
// read so far.
func Build(ctx context.Context, s *Sources, read func(rows int64)) (*Index, error) {
	if s.rows().Rows > MaxRows {
		return nil, fault.Invalid(s.Rows.URI(), "narrow it: rollmill show --where CONDITION finds rows without a list, "+
			"and rollmill curate --filter CONDITION writes a smaller dataset", nil,
			"it has %d rows, more than the %d of which the viewer keeps a list in memory", s.Base.Rows, MaxRows)
	}
	x := newIndex(s)
	known := make(chan ids, s.rows().Rows/knownRows+1)
	all, reading := errgroup.WithContext(ctx)
	all.Go(func() error {
		defer close(known)
		return x.readBase(reading, read, known)
	})
	all.Go(func() error {
		var base ids
		idsTo := func(row uint32) *ids {
			for more := true; int(row) >= base.len(); {
				if base, more = <-known; !more {
					return nil // readBase returns why
				}
			}
			return &base
		}
		if err := x.readThin(reading, s.Scores, idsTo); err != nil {
			return err
		}
		return x.readThin(reading, s.Members, idsTo)
	})
	if err := all.Wait(); err != nil {
		return nil, err
	}
	if err := x.readDecisions(ctx); err != nil {
		return nil, err
	}
	x.complete()
	return x, nil
}

// maxRecent is the number of orders, and of conditions, that an index remembers.
const maxRecent = 4

func newIndex(s *Sources) *Index {
	n := min(s.rows().Rows, MaxRows)
	x := &Index{From: s, ids: ids{packed: make([]byte, 0, n*idBytes)}, epoch: newCoded[int64](n),
		generation: newCoded[int64](n), policy: newCoded[int64](n), reward: slices.Repeat([]float64{math.NaN()}, int(n)),
		advantage: slices.Repeat([]float64{math.NaN()}, int(n)),
		orders:    kept.New[[]uint32](maxRecent), finds: kept.New[found](maxRecent)}
	for _, w := range x.texts() {
		*w = newCoded[string](n)
	}
	for _, c := range []*[]int32{&x.prompt, &x.completion, &x.sampled} {
		*c = make([]int32, 0, n)
	}
	return x
}

// complete fills columns that no dataset has, names the columns, and makes the groups.
func (x *Index) complete() {
	x.columns = map[string]*column{"trajectory_id": {text: x.ids.of}, "reward": numbers(x.reward),
		"advantage": numbers(x.advantage), "prompt_tokens": numbers(x.prompt), "completion_tokens": numbers(x.completion),
		"sampled_tokens": numbers(x.sampled)}
	integers := map[string]*coded[int64]{"epoch": &x.epoch, "generation": &x.generation, "policy_version": &x.policy}
	for name, c := range integers {
		x.columns[name] = &column{number: func(row uint32) float64 { return float64(c.of(row)) }}
	}
	first := x.From.rows().First
	for _, name := range []string{"", "row"} {
		x.columns[name] = &column{number: func(row uint32) float64 { return float64(first + int64(row)) }}
	}
	for name, w := range x.texts() {
		for w.len() < int(x.Rows) {
			w.add("")
		}
		w.number = nil
		x.columns[name] = wordsColumn(w)
	}
	for i := range x.components {
		c := &x.components[i]
		for len(c.values) < int(x.Rows) {
			c.values = append(c.values, math.NaN())
		}
		x.columns[ComponentColumn(c.name)] = numbers(c.values)
		c.divide()
	}
	x.listMembers()
}

// componentPrefix begins the names of the columns of named rewards.
const componentPrefix = "rewards."

// ComponentColumn returns the column of a named reward.
func ComponentColumn(name string) string { return componentPrefix + name }
