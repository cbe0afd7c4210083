package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/pipelines/convert"
	"github.com/rollmill/rollmill/pipelines/look/find"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

// batch is a submission that is computed again.
type batch struct {
	*prover
	receipt *find.Receipt
	curated *dataset.Dataset
	record  *submit.Listed // in the ledger; nil if that is not there
}

// receipt proves what a receipt says of its batch, the sequences that the trainer got of
// it, and the loss that it gave back.
func (p *prover) receipt(ctx context.Context, r *find.Receipt) error {
	b := &batch{prover: p, receipt: r}
	proof := Proof{Name: p.name(storage.Join(r.URI, receipts.File)), Rows: r.Trajectories}
	if r.CuratedDigest == "" {
		proof.Trained = "nothing was sent"
		p.add(&proof)
		return nil
	}
	at := slices.IndexFunc(p.found.Datasets, func(d *dataset.Dataset) bool {
		return d.Kind == schema.KindTrajectories && d.RowsDigest.String() == r.CuratedDigest
	})
	if at < 0 {
		proof.Unproved = "the dataset that it is about is not here: none has the rows digest " + r.CuratedDigest
		p.add(&proof)
		return nil
	}
	b.curated = p.found.Datasets[at]
	if slices.ContainsFunc(p.out.Proofs, func(o *Proof) bool { return o.Name == p.name(b.curated.URI()) && o.Damage != "" }) {
		proof.Unproved = "the dataset that it is about is damaged"
		p.add(&proof)
		return nil
	}
	var err error
	if proof.Differs, err = b.counts(ctx); err != nil {
		return err
	}
	proof.Unproved = b.ledger(ctx, &proof)
	p.add(&proof)
	if _, given := r.Sequences[p.Sequences.File]; given {
		return b.sequences(ctx)
	}
	return nil
}

// counts compares the receipt's numbers with the dataset's.
func (b *batch) counts(ctx context.Context) (*Difference, error) {
	rows, err := dataset.NewReaderOf[formats.Trajectory](ctx, b.curated, b.curated.All(), []string{"example_id", "epoch", "group_id",
		"forked_from", "fork_call", "sampled_tokens"})
	if err != nil {
		return nil, err
	}
	groups, tokens := map[string]bool{}, int64(0)
	for row, err := range rows.Each(atOnce) {
		if err != nil {
			return nil, err
		}
		groups[row.Group()] = true
		tokens += int64(row.SampledTokens)
	}
	for _, c := range []struct {
		name             string
		stored, computed int64
	}{{"trajectories", b.receipt.Trajectories, b.curated.Rows}, {"groups", b.receipt.Groups, int64(len(groups))}, {"tokens", b.receipt.Tokens, tokens}} {
		if c.stored != c.computed {
			return &Difference{Column: c.name, Stored: c.stored, Computed: c.computed}, nil
		}
	}
	return nil, nil
}

// ledger compares the receipt with the record of its submission, and returns why it cannot.
func (b *batch) ledger(ctx context.Context, proof *Proof) (unproved string) {
	r := b.receipt
	proof.Trained = fmt.Sprintf("%s %s", r.Backend, r.State)
	if r.StepBefore != nil && r.StepAfter != nil {
		proof.Trained += fmt.Sprintf(", step %d to %d", *r.StepBefore, *r.StepAfter)
	}
	if r.Policy != nil {
		proof.Trained += fmt.Sprintf(", policy %s", r.Policy.Model)
	}
	list, err := b.Ledger(ctx, r)
	if err != nil {
		return err.Error()
	}
	at := slices.IndexFunc(list, func(l submit.Listed) bool { return l.Key == r.Key })
	if at < 0 {
		return "its ledger has no submission " + r.Key
	}
	b.record = &list[at]
	if proof.Differs == nil {
		proof.Differs = recorded(&r.Receipt, b.record)
	}
	return ""
}

// recorded compares a receipt, with all its numbers, with the one in the ledger, and with
// the submission there until that has one.
func recorded(r *receipts.Receipt, record *submit.Listed) *Difference {
	for _, c := range [][3]string{{"curated_digest", r.CuratedDigest, record.Digest}, {"state", r.State, record.State}, {"job", r.Job, record.Job}} {
		if c[1] != c[2] {
			return &Difference{Column: c[0], Stored: c[1], Computed: c[2]}
		}
	}
	if record.Receipt == nil {
		if r.Epoch != record.Epoch {
			return &Difference{Column: "epoch", Stored: r.Epoch, Computed: record.Epoch}
		}
		return nil
	}
	var stored, computed any
	if err := errors.Join(filled(r, &stored), filled(record.Receipt, &computed)); err != nil {
		return &Difference{Stored: err.Error()}
	}
	return values(stored, computed)
}

// sequences compares the file that the trainer got with the one that the dataset gives now,
// with the weights of the submission. Without its record, those weights are taken that fit
// the most rows.
func (b *batch) sequences(ctx context.Context) error {
	proof := Proof{Name: b.name(storage.Join(b.receipt.URI, b.Sequences.File)), Rows: b.receipt.Sequences[b.Sequences.File].Sequences}
	pers := append([]sequences.Per{""}, sequences.Pers...)
	if b.record != nil {
		pers = []sequences.Per{""}
		_ = json.Unmarshal([]byte(b.record.Settings["row-weight"]), &pers[0]) // without one, none
	}
	stored, err := storage.Open(ctx, b.receipt.URI)
	if err != nil {
		return err
	}
	stored = stored.Confined()
	var made *storage.Bucket
	var balance receipts.Balance
	for i, per := range pers {
		dir := filepath.Join(b.dir, fmt.Sprint(len(b.out.Proofs), "-", i)) // two receipts may have one key
		if made, err = storage.Open(ctx, dir); err != nil {
			return err
		}
		report, err := convert.Export(ctx, convert.ExportOptions{In: b.curated.URI(), To: []exporters.File{b.Sequences}, Per: per, Lossy: true,
			Out: filepath.Join(dir, b.Sequences.File)})
		if err != nil {
			proof.Unproved = err.Error()
			break
		}
		balance = report.Files[0].Sequences.Balance()
		d, err := same(file(ctx, stored, b.Sequences.File), file(ctx, made, b.Sequences.File))
		if err != nil {
			proof.Unproved = err.Error()
			break
		}
		if i == 0 || d == nil || proof.Differs != nil && d.Row > proof.Differs.Row {
			proof.Differs = d
		}
		if d == nil {
			break
		}
	}
	if counted := b.receipt.Sequences[b.Sequences.File]; proof.Unproved == "" && proof.Differs == nil && counted != balance {
		proof.Differs = &Difference{Column: receipts.File + ": sequences", Stored: counted, Computed: balance}
	}
	b.add(&proof)
	if proof.Unproved != "" || proof.Differs != nil {
		return nil
	}
	if _, err := stored.Stat(ctx, backends.EchoFile); errors.Is(err, storage.ErrNotExist) {
		return nil
	}
	return b.losses(ctx, stored, made)
}

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
	whiten, err := b.whitening(typed[trainers.SequenceRow](ctx, sequences, b.Sequences.File, "loss_mask", "advantage", "advantages"))
	if err != nil {
		return err
	}
	n := int64(0)
	for row, err := range typed[trainers.SequenceRow](ctx, sequences, b.Sequences.File) {
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
		return &Difference{Column: fmt.Sprintf("sequence %d", s.Sequence), Stored: plural.Of(int64(len(given)),
			"row"), Computed: "a row"}
	}
	e := &given[0]
	switch {
	case len(e.Old) != len(s.ResponseIDs):
		return &Difference{Column: "old_logprobs", Stored: fmt.Sprint(len(e.Old), " values"),
			Computed: fmt.Sprint(len(s.ResponseIDs), " values")}
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
