// Package backends declares the protocol between submit and a trainer: the
// Trainer interface, its optional interfaces, and the types that both use. It
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
//
// A Trainer may implement further interfaces, declared below:
//
//	interface      adds                                            asked by
//	Comparer       it trains on the tables of pairs or labels      submit, which makes them part of the batch
//	RowWriter      it can write what it would send                 submit --dry-run --rows
//	PerReceipt     files in the folder of the receipt              pipelines that run several epochs
//	Keeper         it stores the batch and trains nothing          submit's checks of epochs and of the age of rows
//	Attended       it trains only while submit runs                submit's check of --wait
//	Uploader       it stores the batch at a service                submit's search for keys
//	DatasetReader  it reads the dataset by its URI                 submit's redaction
//	ModelMaker     a model of its own for each submission          submit's check of epochs
//	Identified     settings that change the outcome                the submission's key
//	Follower       jobs that outlive the connection                submit, job
//	Canceller      jobs that can be cancelled                      job --cancel
type Trainer interface {
	// Target names where this trainer trains.
	Target() receipts.Target

	// Preflight reads the batch once and reports every reason not to send it,
	// in the batch's order. It may query the trainer, but sends it nothing. An
	// error means that the checks could not be made.
	Preflight(ctx context.Context, groups Groups, report func(Problem)) (BatchStats, error)

	// Begin makes the trainer ready and returns its state. It trains nothing
	// and may be repeated. known is the policy that answered until now, or nil:
	// an engine that still serves it need not be restarted.
	Begin(ctx context.Context, known *receipts.Policy) (TrainerState, error)

	// Submit streams the batch to the trainer and follows the job as long as
	// the connection lasts. The outcome is valid even with an error; without a
	// state it counts as JobUnknown.
	Submit(ctx context.Context, s Submission, groups Groups, event func(JobEvent)) (Outcome, error)

	// Resolve returns the outcome of a submission whose sender is dead: how it
	// ended, receipts.JobRunning, receipts.JobFailed and Clean if it is certain
	// that nothing was trained, else JobUnknown.
	Resolve(ctx context.Context, s Submission) (Outcome, error)
}

// Gated is a Trainer that leaves out rows of text with a finding that excludes them from
// what the rows train (validate.Accepted).
type Gated interface {
	// AcceptFindings gives it the findings of rows that it takes all the same, before
	// any call but Target.
	AcceptFindings(a validate.Accepted)
}

// Comparer is a Trainer that makes its rows from the batch's tables of pairs or
// labels. The trainer's package documents what it does without them. The tables
// that it uses are part of what is submitted: the same rows with other pairs
// are another batch.
type Comparer interface {
	// Compares names the tables that it would use: schema.TablePairs,
	// schema.TableLabels.
	Compares() []string

	// UseTables gives it those of them that the batch has, before any call but
	// Compares and Target.
	UseTables(tables formats.Tables)
}

// RowWriter is a Trainer that can show what it would send.
type RowWriter interface {
	// WriteRows writes what Submit would send of the batch, in the same bytes and by
	// the same code, as files at a place. It sends nothing.
	WriteRows(ctx context.Context, s Submission, groups Groups, to Place) error
}

// PerReceipt is a Trainer that writes files in the folder of the receipt, for the program that
// trains. A run of several epochs has a receipt for each.
type PerReceipt interface {
	// At returns the trainer for another receipt.
	At(Place) Trainer
}

// Keeper is a Trainer that trains nothing but stores the batch for a reader:
// the batch may still be sent to another trainer, and its rows may be of any
// age.
type Keeper interface {
	Keeps() bool
}

// Attended is a Trainer that drives the training itself, step by step: whoever
// submits to it waits for the end. submit refuses to run without Options.Wait.
type Attended interface {
	Attended() bool
}

// Uploader is a Trainer that stores the batch at a service which keeps the
// files: submit gives it no batch in which it found a key, unless the user
// allows it. Trainers that only write files, start a program or send the batch to
// the server of the policy do not implement it.
type Uploader interface {
	Uploads() bool
}

// DatasetReader is a Trainer that reads the dataset itself, by its URI: submit
// cannot redact what it gets.
type DatasetReader interface {
	ReadsDataset() bool
}

// ModelMaker is a Trainer that makes a model of its own for each submission: the
// same epoch may be submitted to it in several forms, with other settings or as
// the parts of a split. The submissions of any other Trainer, except a Keeper,
// advance one policy: an epoch of a run trains it once, whatever its rows.
type ModelMaker interface {
	MakesModels() bool
}

// Identified is a Trainer with settings that change its outcome. They are part
// of the submission's key.
type Identified interface {
	Identity() Identity
}

// Follower is a Trainer whose jobs outlive the connection. A state that it does
// not know counts as receipts.JobRunning with Outcome.UnknownState, and the
// message names it: waiting ends by the time limits.
type Follower interface {
	Status(ctx context.Context, job string) (Outcome, error)
}

// Canceller is a Trainer whose jobs can be cancelled. The outcome is the state
// right after the request: the job may continue for a while. Cancelling a job
// that has ended is not an error.
type Canceller interface {
	Cancel(ctx context.Context, job string) (Outcome, error)
}
