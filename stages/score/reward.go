package score

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages/internal/containers/verifier"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Reward computes one named reward. Score is called from several goroutines
// at once, for different rows.
type Reward interface {
	// Describe returns what does not change while the reward lives. A reward that says
	// nothing, not even how much it reads, is refused.
	Describe() Description

	// Score fills one value per row; len(values) == len(rows). The rows of a group always come
	// in one call, but a value may depend only on its row (in a group-relative reward: its
	// group), the spec and the seed: not on the batch, the worker or the time. An error about
	// one row is its value's failure and never affects other rows. A returned error ends the
	// stage: the context's, or one that no row causes.
	Score(ctx context.Context, rows []*Row, values []Value) error

	// Close ends what the reward started. It may be called twice.
	Close() error
}

// Description is what the stage has to know of a reward.
type Description struct {
	Detail  Detail   // which columns Score reads; the others may be zero
	Columns []string // those of Light that it reads besides ids, epoch, generation and status; nil: all

	Files []string // on a disk or at URIs (Setup.Open), whose content decides the values: part of the identity
	Words []string // of a program that it runs: every file among them decides the values

	Digests map[string]string // of what else decides the values, by name: part of the identity
	Reads   []string          // rewards computed before it, whose values it reads: --only computes it where one of them changed
	// Shaped is the reward whose shaped rewards it reads, computed in the same run; "" for those
	// of the input's scores, which its own replace.
	Shaped *string

	// Parts are the names of numbers that it gives each row besides its own. A row has each as a
	// reward named NAME_PART of weight 0, after the reward's own; with NoValue it has these alone.
	Parts   []string
	NoValue bool

	Stored   bool // it reads the rewards with which trajectories came: the row's columns reward and rewards
	Relative bool // a value depends on the row's whole group
	Local    bool // it asks no model and no service

	Unmetered bool // it may ask models through something of whose calls the stage knows nothing: a program or a service

	// Immediate says that a value is computed at once, from nothing but the row: it waits for
	// no program, service or model, and compares no rows. Score gets rows in calls of any
	// size, and must not keep them: their memory is used again.
	Immediate bool

	// Start checks whether a reward that needs something outside this process can be computed
	// at all, without a row; nil if it needs nothing.
	Start func(context.Context) error
}

// Detail is how much of a trajectory a reward reads; each level includes the one before.
type Detail int

const (
	Light  Detail = 1 + iota // ids, status, answer, counts, metadata; neither example nor messages
	Head                     // the example, too
	Text                     // the messages without their tokens, and which calls were to the target model
	Tokens                   // every column
)

// RoundedUp is how far above 0 rounding may leave a log probability of another program.
const RoundedUp = 1e-3

// Value is a reward's result for one row: a number, or why there is none.
type Value struct {
	Reward  float64
	Shaped  []float64        // of the sampled messages, in order; nil for none
	Signals []formats.Signal // of sampled messages, any; their component is set later
	Failure string           // one of outcomes.RewardFailures; "" when Reward is set
	Error   string

	Traceback string // of the user's program, whose last line is Error; "" for none

	Reason string // why the value is what it is, to be read by people; "" for none
	Parts  []Part // of Description.Parts, in their order, also when Reward is not set; nil: none is known, as the reward
}

// Part is the result of one of Description.Parts for a row. One that is not set has no value.
type Part struct {
	Value   *float64 // nil: there is none
	Failure string   // why: one of outcomes.RewardFailures; "" when Value is set
	Error   string
	Reason  string // as in Value
}

// EachRow sets the values of rows, so many at once; -1: all.
func EachRow(ctx context.Context, rows []*Row, values []Value, limit int, value func(context.Context, *Row) (Value, error)) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for i, row := range rows {
		g.Go(func() (err error) {
			values[i], err = value(ctx, row)
			return err
		})
	}
	return g.Wait()
}

// Failed returns the value of a row that could not be scored.
func Failed(class, format string, args ...any) Value {
	return Value{Failure: class, Error: fmt.Sprintf(format, args...)}
}

// RewardKind is an entry of the registry of rewards: the word before the colon in a spec.
type RewardKind struct {
	plugin.Kind[RewardSettings]
	Seeded bool // the seed may change its values

	// Decides removes from a spec's arguments what does not decide the values,
	// such as the address of a service. Nil: all of them do.
	Decides func(arguments string) string
}

// RewardSettings are the arguments of a spec.
type RewardSettings interface {
	plugin.Settings

	// Reward makes the reward. It checks the settings and starts nothing; its
	// errors are only about the settings.
	Reward(s Setup) (Reward, error)
}

// Setup is what a reward is made from besides its settings.
type Setup struct {
	Name    string
	Known   []string // names of the rewards that rows have before this one: carried forward, or computed in this run
	Partial bool     // Known is not complete: the input is not open yet
	Seed    int64
	Timeout time.Duration
	PassEnv []string // environment variables for programs although they are named like secrets
	Judging Judging

	Concurrency int                // as the stage's
	TaskEnv     verifier.Variables // that Harbor tasks may read
	Base        *dataset.Dataset   // the trajectories; nil: not open yet

	Open func(ctx context.Context, uri string) (File, error) // fs.ErrNotExist if there is no such file
	Log  *slog.Logger                                        // never nil
}

// File is a file that a reward reads.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64 // bytes
}

// Make makes the reward of a spec's arguments.
func (k RewardKind) Make(arguments string, s Setup) (Reward, error) {
	settings := k.New()
	if err := plugin.Parse(settings, arguments); err != nil {
		return nil, err
	}
	return settings.Reward(s)
}

// Registry lists the rewards that a spec may name.
type Registry = plugin.Registry[RewardSettings, RewardKind]

// deciding returns the part of a spec that decides the values, for the identity.
func deciding(r Registry, s Spec) Spec {
	if kind, err := r.Find(s.Kind); err == nil && kind.Decides != nil {
		s.Arguments = kind.Decides(s.Arguments)
	}
	return s
}
