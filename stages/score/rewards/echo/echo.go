// Package echo reads what a trainer gives back of the sequences that it was given: a Parquet
// file of trainers.EchoRow, whose form is that of kind sequences. Without a file it reads what a
// row's importer kept of its source's trainer, as verifiers' nodes have it.
//
//	--reward 'trainer*0=echo:echo.parquet'               log probabilities before the first step
//	--reward 'trainer_new*0=echo:echo.parquet,of=new'    after the last step
//
// of old, new and ref are log probabilities, in nats, and entropy is that of each token's
// distribution, in nats. They become the reward's signals, one for each sampled message. The
// reward is the mean over the trained tokens: for log probabilities, of how far they are above
// those that the engine recorded. of clipped and loss are numbers of a sequence, which count by
// its tokens, and have no signals.
//
// `rollmill audit --mismatch trainer` compares the signals with what the engine recorded, by
// class of token, position and staleness.
package echo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sync"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage/fault"
)

var Kind = score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{
	Name: "echo", Help: "read what a trainer computed for each sampled token, from a file that it wrote or from the imported rows",
	New: func() score.RewardSettings { return &Settings{Of: Old} },
}}

// What a file has of a sequence.
const (
	Old       = "old"
	New       = "new"
	Reference = "ref"
	Entropy   = "entropy"
	Clipped   = "clipped"
	Loss      = "loss"
)

type Settings struct{ File, Of string }

func (s *Settings) Declare(d *plugin.Declarer) {
	d.String(&s.File, "file", "read this Parquet `FILE`, on a disk or in a bucket; one with a comma or = in its name is "+
		"given as file=FILE, the last").FirstInSpec().LastInSpec().
		DefaultShown("trainer_logprobs, reference_logprobs and entropies of an imported row's messages")
	plugin.Choice(d, &s.Of, "of", "take `WHAT`: log probabilities under the policy before the training (old), after it (new) or of a "+
		"reference (ref), the entropy, the clipped share or the loss", Old, New, Reference, Entropy, Clipped, Loss)
}

func (s *Settings) Reward(setup score.Setup) (score.Reward, error) {
	return &reward{Setup: setup, Settings: *s}, nil
}

// Arguments returns the arguments of a spec for a file whose name may have any characters.
func Arguments(of, file string) string { return "of=" + of + ",file=" + file }

// Columns returns what the file at a URI has of sequences: Old, New and so on.
func Columns(ctx context.Context, uri string, with func(context.Context, string) (score.File, error)) (out []string, err error) {
	src, f, err := open(ctx, uri, with)
	if err != nil {
		return nil, err
	}
	defer src.Close() // read only
	has, err := f.Columns()
	for i, column := range []string{"old_logprobs", "new_logprobs", "ref_logprobs", "entropies", "clip_share", "loss"} {
		if has[column] {
			out = append(out, []string{Old, New, Reference, Entropy, Clipped, Loss}[i])
		}
	}
	if err == nil && out == nil {
		err = fault.Invalid(uri, "write old_logprobs, or another of the columns, for each row of the sequences", nil,
			"it has no value")
	}
	return out, err
}

// open opens the file at a URI.
func open(ctx context.Context, uri string, with func(context.Context, string) (score.File, error)) (score.File, *trainers.Echo, error) {
	src, err := with(ctx, uri)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fault.Invalid(uri, "name the file that the trainer wrote", fs.ErrNotExist,
			"there is no such file")
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := trainers.OpenEcho(src, src.Size(), uri)
	if err != nil {
		return nil, nil, errors.Join(err, src.Close())
	}
	return src, f, nil
}

type reward struct {
	score.Setup
	Settings
	mu   sync.Mutex
	src  score.File // nil until the first row
	file *trainers.Echo
}

func (r *reward) where() string {
	if r.File == "" {
		return "the metadata"
	}
	return "the file"
}

func (r *reward) Describe() score.Description {
	d := score.Description{Detail: score.Tokens, Local: true}
	if r.File != "" {
		d.Files = []string{r.File}
	}
	return d
}

func (r *reward) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.src == nil {
		return nil
	}
	err := r.src.Close()
	r.src = nil
	return err
}

// Score fills the values. A trajectory of which the file has nothing has none.
func (r *reward) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.src == nil && r.File != "" {
		var err error
		if r.src, r.file, err = open(ctx, r.File, r.Open); err != nil {
			return err
		}
	}
	for i, row := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		all, problem := sequences.Of(row.Trajectory)
		if problem != nil {
			values[i] = score.Failed(outcomes.RewardMissing, "%v", problem)
			continue
		}
		given, err := kept(row, all)
		if r.File != "" {
			if given, err = r.file.Of(row.TrajectoryID); err != nil {
				return err
			}
		}
		if values[i] = r.value(row, all, given); err != nil {
			values[i] = score.Failed(outcomes.RewardAnswer, "%v", err)
		}
	}
	return nil
}

// kept returns the rows of what an importer kept of each message in its metadata, with NaN for
// tokens of which it has nothing.
func kept(row *score.Row, all []sequences.Sequence) (out []trainers.EchoRow, err error) {
	var of struct {
		Message map[int]struct {
			Old       jsontext.Floats `json:"trainer_logprobs"`
			Reference jsontext.Floats `json:"reference_logprobs"`
			Entropy   jsontext.Floats `json:"entropies"`
		} `json:"message_fields"`
	}
	if row.Metadata == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(row.Metadata), &of); err != nil {
		return nil, fmt.Errorf("the metadata: %w", err)
	}
	some := false
	for i := range all {
		s, lists := &all[i], [3]jsontext.Floats{}
		for n, message := range s.Messages {
			span, m := s.Versions[n], of.Message[message]
			for k, values := range [3]jsontext.Floats{m.Old, m.Reference, m.Entropy} {
				if len(values) != int(span.End-span.Start) {
					continue
				}
				if some = true; lists[k] == nil {
					lists[k] = slices.Repeat(jsontext.Floats{float32(math.NaN())}, len(s.Response))
				}
				copy(lists[k][span.Start:], values)
			}
		}
		out = append(out, trainers.EchoRow{Sequence: int32(i), Old: lists[0], Reference: lists[1], Entropy: lists[2]})
	}
	if !some {
		return nil, nil
	}
	return out, nil
}

func (r *reward) value(row *score.Row, all []sequences.Sequence, given []trainers.EchoRow) (v score.Value) {
	if len(given) == 0 {
		return score.Failed(outcomes.RewardMissing, "%s has nothing of the trajectory", r.where())
	}
	tokens := 0
	for i := range all {
		s := &all[i]
		own := func(e trainers.EchoRow) bool { return int(e.Sequence) == i }
		at := slices.IndexFunc(given, own)
		if at < 0 {
			return score.Failed(outcomes.RewardMissing, "%s has nothing of sequence %d", r.where(), i)
		}
		if slices.ContainsFunc(given[at+1:], own) {
			return score.Failed(outcomes.RewardAnswer, "%s has several rows of sequence %d", r.where(), i)
		}
		sum, signals, err := r.read(row, s, &given[at])
		if err != nil {
			return score.Failed(outcomes.RewardAnswer, "sequence %d: %v", i, err)
		}
		v.Reward += sum
		v.Signals = append(v.Signals, signals...)
		tokens += s.Tokens
	}
	v.Reward /= float64(tokens)
	slices.SortFunc(v.Signals, func(a, b formats.Signal) int { return int(a.Message - b.Message) })
	return v
}

// read returns the sum over the trained tokens, and the signals of the messages.
func (r *reward) read(row *score.Row, s *sequences.Sequence, e *trainers.EchoRow) (sum float64, signals []formats.Signal, err error) {
	if number, is := map[string]*float64{Clipped: e.Clipped, Loss: e.Loss}[r.Of]; is {
		switch {
		case number == nil:
			return 0, nil, fmt.Errorf("%s has no %s", r.where(), r.Of)
		case r.Of == Clipped && (*number < 0 || *number > 1):
			return 0, nil, fmt.Errorf("the clipped share is %v, not from 0 to 1", *number)
		}
		return *number * float64(s.Tokens), nil, nil
	}
	values := map[string][]float32{Old: e.Old, New: e.New, Reference: e.Reference, Entropy: e.Entropy}[r.Of]
	if len(values) != len(s.Response) {
		return 0, nil, fmt.Errorf("%s has %d values of %s for %d response ids", r.where(), len(values), r.Of, len(s.Response))
	}
	for n, message := range s.Messages {
		span := s.Versions[n]
		signal := formats.Signal{Message: int32(message), Values: slices.Clone(values[span.Start:span.End])}
		for k, value := range signal.Values {
			switch at := int(span.Start) + k; {
			case math.IsNaN(float64(value)):
				return 0, nil, fmt.Errorf("value %d of %s is not a number", at, r.Of)
			case r.Of == Entropy && value < -score.RoundedUp:
				return 0, nil, fmt.Errorf("value %d of entropy is %v; an entropy is at least 0", at, value)
			case r.Of != Entropy && value > score.RoundedUp:
				return 0, nil, fmt.Errorf("value %d of %s is %v; a log probability is at most 0", at, r.Of, value)
			}
			signal.Value += float64(value) / float64(len(signal.Values))
			if sum += float64(value); r.Of != Entropy {
				sum -= float64(row.Messages[message].Logprobs[k])
			}
		}
		signals = append(signals, signal)
	}
	return sum, signals, nil
}
