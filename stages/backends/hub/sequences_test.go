package hub_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/hub"
	"github.com/rollmill/rollmill/stages/backends/hubtest"
	"github.com/rollmill/rollmill/storage/fault"
)

const sequencesFile = "data/sequences/train-00000-of-00001.parquet"

// recorded is a batch of which the engine gave the ids of the prompts.
func recorded(groups backends.Groups) backends.Groups {
	return func(yield func([]formats.Trajectory, error) bool) {
		for rows, err := range groups {
			for i := range rows {
				for m := range rows[i].Messages {
					if rows[i].Messages[m].Sampled {
						rows[i].Messages[m].PromptDeltaIDs = []int32{1, 2, 3}
					}
				}
			}
			if !yield(rows, err) {
				return
			}
		}
	}
}

// TestSequencesAreAsTheBatch: beside the trajectories or alone, every sampled token
// is in one pushed row, the record has the balance, and the card describes every
// column of the file.
func TestSequencesAreAsTheBatch(t *testing.T) {
	for name, edit := range map[string]func(*hub.Config){"alone": tables("sequences"), "beside": tables("trajectories", "sequences")} {
		t.Run(name, func(t *testing.T) {
			tr, s := start(t, hubtest.Faults{}, edit)
			stats, err := tr.Preflight(t.Context(), recorded(backendtest.Batch()), func(p backends.Problem) { t.Error(p) })
			if err != nil || len(stats.Files) != 1 || stats.Files[0].Name != "sequences/train" || stats.Files[0].Rows != 12 ||
				stats.Files[0].Sequences.In != 24 {
				t.Errorf("%+v, %v", stats, err)
			}
			must(t, tr, "token-1")
			files := s.Files(id)
			rows := read[trainers.SequenceRow](t, files[sequencesFile])
			n := 0
			for _, r := range rows {
				n += int(r.Tokens)
				if r.Weight != 1 || len(r.ResponseIDs) != len(r.LossMask) || len(r.PromptIDs) == 0 {
					t.Errorf("%+v", r)
				}
			}
			if len(rows) != 12 || n != 24 {
				t.Errorf("%d rows, %d tokens", len(rows), n)
			}
			record := strings.Join(strings.Fields(files[".rollmill/token-1.json"]), " ")
			if !strings.Contains(record, `"sequences/train": { "trajectories": 12, "sequences": 12, "tokens": 24, "tokens_in": 24 }`) {
				t.Error(record)
			}
			f, err := parquet.Open(bytes.NewReader([]byte(files[sequencesFile])), int64(len(files[sequencesFile])), "train")
			if err != nil {
				t.Fatal(err)
			}
			for _, column := range f.Columns() {
				name, _, _ := strings.Cut(strings.ReplaceAll(column, ".list.element", ""), ".list.")
				if !strings.Contains(files["README.md"], "\n| `"+name+"` | ") {
					t.Errorf("the card does not describe %s", column)
				}
			}
		})
	}
}

// TestWeightsAreThoseOfASplit: the weights of the training split and of the held-out
// one are each computed from its own sequences, and a second attempt makes the same
// bytes.
func TestWeightsAreThoseOfASplit(t *testing.T) {
	weighed := func(c *hub.Config) {
		c.Tables, c.RowWeight, c.Validation, c.SplitSeed = []string{"sequences"}, sequences.Trajectory, 0.4, 1
	}
	longer := func(yield func([]formats.Trajectory, error) bool) {
		for rows, err := range recorded(backendtest.Batch()) {
			m := &rows[1].Messages[1] // a trajectory with more tokens than the others
			m.TokenIDs, m.Logprobs = append(m.TokenIDs, 9, 9), append(m.Logprobs, -1, -1)
			if !yield(rows, err) {
				return
			}
		}
	}
	var first map[string]string
	for range 2 {
		tr, s := start(t, hubtest.Faults{}, weighed)
		if _, err := tr.Begin(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Submit(t.Context(), submission("token-1"), longer, func(backends.JobEvent) {}); err != nil {
			t.Fatal(err)
		}
		files := s.Files(id)
		for _, split := range []string{"train", "validation"} {
			path := strings.Replace(sequencesFile, "train", split, 1)
			rows, weight, tokensOf := read[trainers.SequenceRow](t, files[path]), 0.0, 0.0
			for _, r := range rows {
				weight, tokensOf = weight+r.Weight*float64(r.Tokens), tokensOf+float64(r.Tokens)
				if each := r.Weight * float64(r.Tokens); math.Abs(each-rows[0].Weight*float64(rows[0].Tokens)) > 1e-9 {
					t.Errorf("%s: %s is worth %v", split, r.TrajectoryID, each)
				}
			}
			if len(rows) == 0 || math.Abs(weight-tokensOf) > 1e-9 {
				t.Errorf("%s: %d rows weigh %v, and have %v tokens", split, len(rows), weight, tokensOf)
			}
			if first != nil && first[path] != files[path] {
				t.Errorf("%s differs between two attempts", path)
			}
		}
		first = files
	}
}

func TestOnlySequencesHaveWeights(t *testing.T) {
	_, err := hub.New(hub.Config{Repo: id, Tables: []string{"trl-sft"}, RowWeight: sequences.Token})
	if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "--tables sequences") {
		t.Error(err)
	}
}
