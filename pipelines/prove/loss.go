package prove

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/storage"
)

// single is how far a loss may be from the one computed here, relative to the sum of the
// absolute values that it is the mean of: trainers compute in single precision.
const single = 1e-5

// losses compares the loss of each sequence in a trainer's echo with the one that follows
// from the log probabilities there and from the sequences that it got.
func (b *batch) losses(ctx context.Context, echo, sequences *storage.Bucket) error {
	proof := Proof{Name: b.name(storage.Join(b.receipt.URI, backends.EchoFile))}
	src, err := echo.Open(ctx, backends.EchoFile)
	var given *trainers.Echo
	var has map[string]bool
	if err == nil {
		defer src.Close() // read only
		if given, err = trainers.OpenEcho(src, src.Size(), backends.EchoFile); err == nil {
			proof.Rows = given.Rows()
			has, err = given.Columns()
		}
	}
	if err != nil || !has["loss"] {
		proof.Unproved = "the trainer gave back no loss"
		if err != nil {
			proof.Unproved = err.Error()
		}
		b.add(&proof)
		return nil
	}
	whiten, err := b.whitening(file[trainers.SequenceRow](ctx, sequences, b.Sequences.File, "loss_mask", "advantage", "advantages"))
	if err != nil {
		return err
	}
	n := int64(0)
	for row, err := range file[trainers.SequenceRow](ctx, sequences, b.Sequences.File) {
		if err != nil {
			return err
		}
		all, err := given.Of(row.TrajectoryID)
		if err != nil {
			return err
		}
		own := slices.DeleteFunc(all, func(e trainers.EchoRow) bool { return e.Sequence != row.Sequence })
		if d := loss(row, own, whiten); d != nil {
			d.Row, d.TrajectoryID = n, row.TrajectoryID
			proof.Differs = d
			break
		}
		n++
	}
	b.add(&proof)
	return nil
}

// whitening returns what the batch leaves to its trainer: the normalization of advantages
// over tokens that training.Whitening defines, or nothing.
func (b *batch) whitening(rows iter.Seq2[*trainers.SequenceRow, error]) (func(float64) float64, error) {
	var state decision.CurateState
	_ = json.Unmarshal(b.curated.State, &state) // one that cannot be read leaves nothing
	if state.Advantages == nil || state.Advantages.Whiten == nil {
		return func(advantage float64) float64 { return advantage }, nil
	}
	n, mean, squares := 0.0, 0.0, 0.0
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		for i, trains := range row.LossMask {
			if trains {
				from := advantageOf(row, i) - mean
				n++
				mean += from / n
				squares += from * (advantageOf(row, i) - mean)
			}
		}
	}
	how := state.Advantages.Whiten
	if how.Sample && n > 1 {
		n--
	}
	scale := math.Sqrt(max(squares/max(n, 1), how.Floor) + how.Epsilon)
	return func(advantage float64) float64 { return (advantage - mean) / scale }, nil
}

// advantageOf returns the advantage of a token of the response; 0 without one.
func advantageOf(s *trainers.SequenceRow, i int) float64 {
	switch {
	case s.Advantages != nil:
		return float64(s.Advantages[i])
	case s.Advantage != nil:
		return *s.Advantage
	}
	return 0
}

// loss computes the loss of one sequence again, as trainers.EchoRow defines it.
func loss(s *trainers.SequenceRow, given []trainers.EchoRow, whiten func(float64) float64) *Difference {
	if len(given) != 1 {
		return &Difference{Column: fmt.Sprintf("sequence %d", s.Sequence), Stored: plural.Of(int64(len(given)), "row"), Computed: "a row"}
	}
	e := &given[0]
	switch {
	case len(e.Old) != len(s.ResponseIDs):
		return &Difference{Column: "old_logprobs", Stored: fmt.Sprint(len(e.Old), " values"), Computed: fmt.Sprint(len(s.ResponseIDs), " values")}
	case e.Loss == nil:
		return &Difference{Column: "loss", Computed: "a number"}
	}
	sum, size := 0.0, 0.0
	for i, trains := range s.LossMask {
		if !trains {
			continue
		}
		advantage := whiten(advantageOf(s, i))
		if s.RLWeights != nil {
			advantage *= float64(s.RLWeights[i])
		}
		term := s.Weight * advantage * math.Exp(float64(e.Old[i])-float64(s.Logprobs[i]))
		sum, size = sum-term, size+math.Abs(term)
	}
	n := float64(max(s.Tokens, 1))
	if computed := sum / n; !(math.Abs(*e.Loss-computed) <= single*max(size/n, 1e-3)) {
		return &Difference{Column: "loss", Stored: *e.Loss, Computed: computed}
	}
	return nil
}
