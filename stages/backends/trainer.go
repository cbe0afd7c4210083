// Package backends declares the protocol between submit and a trainer: the
// Trainer interface, what a trainer says of itself, and the types that both use. It
// contains no trainer and does no work. Each trainer is a folder below, named
// after its provider; stages/backends/all lists them.
//
// What a receipt stores (receipts.Target, receipts.Policy and the states of a
// job) is in formats, because rollout and the reports read receipts too.
//
// To add a trainer, see stages/backends/backendtest, which has the steps and a
// complete trainer as an example.
package backends

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/validate"
)

// Trainer submits batches to one target. An implementation keeps no state
// between calls and is used from one goroutine.
//
// It guarantees that a batch is trained at most once: Submit never repeats a
// request that may have had an effect, and Resolve never guesses.
type Trainer interface {
	// Target names where this trainer trains.
	Target() receipts.Target

	// Identity returns the settings that change the outcome; nil for none. They are part of
	// the submission's key.
	Identity() Identity

	// Describe returns what does not change while the trainer lives, and is cheap. A trainer
	// that says nothing, not even what a submission changes, is refused.
	Describe() Description

	// Preflight reads the batch once and reports every reason not to send it,
	// in the batch's order. It may query the trainer, but sends it nothing. An
	// error means that the checks could not be made.
	Preflight(ctx context.Context, groups Groups, report func(Problem)) (BatchStats, error)

	// Begin makes the trainer ready and returns its state. It trains nothing
	// and may be repeated. known is the policy that answered until now, or nil:
	// an engine that still serves it need not be restarted.
	Begin(ctx context.Context, known *receipts.Policy) (TrainerState, error)

	// Submit streams the batch to the trainer and follows the job as long as the connection
	// lasts. The outcome is valid even with an error; without a state it counts as JobUnknown.
	Submit(ctx context.Context, s Submission, groups Groups, event func(JobEvent)) (Outcome, error)

	// Resolve returns the outcome of a submission whose sender is dead: how it
	// ended, receipts.JobRunning, receipts.JobFailed and Clean if it is certain
	// that nothing was trained, else JobUnknown.
	Resolve(ctx context.Context, s Submission) (Outcome, error)
}

// Effect is what a submission changes.
type Effect int

const (
	// AdvancesPolicy: all submissions advance one policy. An epoch of a run trains it once,
	// whatever its rows.
	AdvancesPolicy Effect = 1 + iota

	// MakesModel: each submission makes a model of its own. The same epoch may be submitted in
	// several forms, with other settings or as the parts of a split.
	MakesModel

	// KeepsBatch: the batch is stored for a reader, and nothing is trained. It may still be
	// sent to another trainer, and its rows may be of any age.
	KeepsBatch
)

// Description is what submit has to know of a trainer.
type Description struct {
	Effect Effect

	// Private says that the batch stays with the user: it writes files, starts a program or sends
	// the batch to the server of the policy. Any other trainer may store it at a service which
	// keeps it, so submit gives it no batch in which it found a key, unless the user allows it.
	Private bool

	ReadsDataset bool // it reads the dataset itself, by its URI: submit cannot redact what it gets
	Attended     bool // it drives the training itself, step by step: whoever submits to it waits for the end

	// Compares names the tables of pairs or labels (schema.TablePairs, schema.TableLabels) from
	// which it would make its rows: the same rows with other pairs are another batch. The
	// trainer's package documents what it does without them.
	Compares []string

	// Use gives it, before any call but Target, those of Compares that the batch has, and the
	// findings of rows that it takes all the same: rows of text with other findings that exclude
	// them from what they train are left out. Nil: it uses neither.
	Use func(tables formats.Tables, accepted validate.Accepted)

	// WriteRows writes what Submit would send of the batch, in the same bytes and by the same
	// code, as files at a place. It sends nothing. Nil: it sends no rows of its own.
	WriteRows func(ctx context.Context, s Submission, groups Groups, to Place) error

	// At returns the trainer for another receipt: it writes files beside it, for the program
	// that trains, and a run of several epochs has a receipt for each. Nil: it writes none.
	At func(Place) Trainer

	// Status returns the state of a job that outlives the connection; nil: none does. A state
	// that it does not know counts as receipts.JobRunning with Outcome.UnknownState, and the
	// message names it: waiting ends by the time limits.
	Status func(ctx context.Context, job string) (Outcome, error)

	// Cancel cancels a job; nil: jobs cannot be cancelled. The outcome is the state right after
	// the request: the job may continue for a while. Cancelling a job that has ended is not an
	// error.
	Cancel func(ctx context.Context, job string) (Outcome, error)
}
