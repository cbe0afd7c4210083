// Package echo reads what a trainer gives back of the sequences that it was given: a Parquet
// file of trainers.EchoRow, whose form is that of kind sequences.
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
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
)

// Kind is the reward's entry in the registry.
var Kind = score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{
	Name: "echo", Help: "read what a trainer computed for each sampled token, from a file that it wrote",
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

// Settings are the reward's settings.
type Settings struct{ File, Of string }

// Declare declares the settings.
func (s *Settings) Declare(d *plugin.Declarer) {
	d.String(&s.File, "file", "read this Parquet `FILE`, on a disk or in a bucket; one with a comma or = in its name is "+
		"given as file=FILE, the last").First().Last()
	plugin.Choice(d, &s.Of, "of", "take `WHAT`: log probabilities under the policy before the training (old), after it (new) or of a "+
		"reference (ref), the entropy, the clipped share or the loss", Old, New, Reference, Entropy, Clipped, Loss)
}

// Reward makes the reward.
func (s *Settings) Reward(setup score.Setup) (score.Reward, error) {
	if s.File == "" {
		return nil, errors.New("name the file that the trainer wrote")
	}
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
		err = formats.Invalid(uri, "write old_logprobs, or another of the columns, for each row of the sequences", nil, "it has no value")
	}
	return out, err
}

// open opens the file at a URI.
func open(ctx context.Context, uri string, with func(context.Context, string) (score.File, error)) (score.File, *trainers.Echo, error) {
	src, err := with(ctx, uri)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, formats.Invalid(uri, "name the file that the trainer wrote", fs.ErrNotExist, "there is no such file")
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

func (r *reward) Needs() score.Needs { return score.Tokens }

// Files names the file, on a disk or in a bucket.
func (r *reward) Files() []string { return []string{r.File} }

// Close closes the file.
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
	if r.src == nil {
		var err error
		if r.src, r.file, err = open(ctx, r.File, r.Open); err != nil {
			return err
		}
	}
	for i, row := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		given, err := r.file.Of(row.TrajectoryID)
		if err != nil {
			return err
		}
		values[i] = r.value(row, given)
	}
	return nil
}

func (r *reward) value(row *score.Row, given []trainers.EchoRow) (v score.Value) {
	all, problem := sequences.Of(row.Trajectory)
	if problem != nil {
		return score.Failed(formats.RewardMissing, "%v", problem)
	}
	if len(given) == 0 {
		return score.Failed(formats.RewardMissing, "the file has nothing of the trajectory")
	}
	tokens := 0
	for i := range all {
		s := &all[i]
		own := func(e trainers.EchoRow) bool { return int(e.Sequence) == i }
		at := slices.IndexFunc(given, own)
		if at < 0 {
			return score.Failed(formats.RewardMissing, "the file has nothing of sequence %d", i)
		}
		if slices.ContainsFunc(given[at+1:], own) {
			return score.Failed(formats.RewardAnswer, "the file has several rows of sequence %d", i)
		}
		sum, signals, err := r.read(row, s, &given[at])
		if err != nil {
			return score.Failed(formats.RewardAnswer, "sequence %d: %v", i, err)
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
			return 0, nil, fmt.Errorf("the file has no %s", r.Of)
		case r.Of == Clipped && (*number < 0 || *number > 1):
			return 0, nil, fmt.Errorf("the clipped share is %v, not from 0 to 1", *number)
		}
		return *number * float64(s.Tokens), nil, nil
	}
	values := map[string][]float32{Old: e.Old, New: e.New, Reference: e.Reference, Entropy: e.Entropy}[r.Of]
	if len(values) != len(s.Response) {
		return 0, nil, fmt.Errorf("the file has %d values of %s for %d response ids", len(values), r.Of, len(s.Response))
	}
	for n, message := range s.Messages {
		span := s.Versions[n]
		signal := formats.Signal{Message: int32(message), Values: slices.Clone(values[span.Start:span.End])}
		for k, value := range signal.Values {
			switch at := int(span.Start) + k; {
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
