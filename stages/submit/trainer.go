package submit

import (
	"context"

	"github.com/rollmill/rollmill/formats"
)

// Trainer is where a batch goes. An implementation is for one target, keeps
// no state between calls, and is used from one goroutine.
//
// The one promise that matters: a batch is trained at most once. So Submit
// never repeats what may have had an effect, and Resolve never guesses.
type Trainer interface {
	// Target names where this trainer trains.
	Target() formats.Target

	// Preflight reads the batch once and reports every reason not to send
	// it, in the batch's order. It may ask the trainer what it is, but gives
	// it nothing. An error means that the checks could not be made.
	Preflight(ctx context.Context, groups formats.Groups, report func(formats.Problem)) (formats.Load, error)

	// Begin makes the trainer ready and says where it stands. It trains
	// nothing and may be repeated. known is the policy that answered until
	// now, or nil: an engine that still serves it need not be restarted.
	Begin(ctx context.Context, known *formats.Policy) (formats.Standing, error)

	// Submit hands the batch over, streaming it, and follows the job as far
	// as the connection that carries it. The outcome holds whatever the
	// error; without a state it counts as JobUnknown.
	Submit(ctx context.Context, s formats.Submission, groups formats.Groups, event func(formats.JobEvent)) (formats.Outcome, error)

	// Resolve says what became of a submission whose sender is gone: ended,
	// JobRunning, JobFailed and Clean when it is certain that nothing was
	// trained, else JobUnknown.
	Resolve(ctx context.Context, s formats.Submission) (formats.Outcome, error)
}

// Comparer is a Trainer that makes rows of the pairs or labels that a batch has
// in tables of its own. What it makes without them, its package says. The
// tables that it uses are part of what is submitted: the same rows with other
// pairs are another batch.
type Comparer interface {
	// Compares names the tables that it would use: formats.TablePairs,
	// formats.TableLabels.
	Compares() []string

	// Beside gives it those of them that the batch has, before anything else
	// is asked of it but Compares and Target.
	Beside(tables formats.Tables)
}

// Keeper is a Trainer that trains nothing but keeps the batch for somebody:
// another trainer may still have it, and the rows may be as old as they are.
type Keeper interface {
	Keeps() bool
}

// InPlace is a Trainer whose submissions advance one policy, the one that is
// served: an epoch of a run trains it once, with whatever rows. The others make
// a new model for each submission, so the same epoch may go to them in several
// forms: other settings, the parts of a split.
type InPlace interface {
	InPlace() bool
}

// Configured is a Trainer that names the settings which change what comes of a
// batch. They are part of the submission's key.
type Configured interface {
	Settings() formats.Settings
}

// Follower is a Trainer whose jobs outlive the connection. A state that it
// does not know counts as JobRunning, and its message names it: waiting ends
// by the time limits.
type Follower interface {
	Status(ctx context.Context, job string) (formats.Outcome, error)
}

// Canceller is a Trainer whose jobs can be asked to end. The outcome is what
// is known right after: a job may go on for a while. Asking a job that has
// ended is no error.
type Canceller interface {
	Cancel(ctx context.Context, job string) (formats.Outcome, error)
}
