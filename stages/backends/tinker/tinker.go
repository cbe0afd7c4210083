// Package tinker trains at a service that speaks the Tinker API: Thinking Machines' own, or an open
// server of the same API such as skyrl. The client drives the training there, one gradient step at
// a time, so a worker in Python does it with the service's own SDK: rollmill.tinker of the Python
// module, started as backend command starts its program.
//
// # An epoch
//
// It begins from saved weights with their optimizer, those of the policy that is known (--policy),
// or from a fresh adapter of the base model. Each optimizer step learns from a part of the batch's
// sequences, by the loss that the settings name. It ends with two saved things of one new name:
// weights for sampling, whose path is the model of the next policy, and the state from which the
// next epoch begins.
//
// # At most once
//
// The service ignores idempotency keys and the numbers of requests: an optimizer step that is sent
// twice is two steps. So the worker sends each request once. What lies between the beginning and
// the saved state is a model of the worker's own, which nobody else names: if an answer is lost, or
// a process dies, that model is dropped, and the epoch is trained again from where it began. An
// epoch therefore counts when its state is saved, and never twice. File tinker.json beside the
// receipt has the ids of the requests, each written before its result is awaited: after a crash,
// Resolve asks for the result of the last one.
//
// The service drops the models of a client that is silent for some minutes. So submit needs --wait.
package tinker

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/command"
)

type Trainer struct {
	cfg    Config
	worker *command.Trainer
}

// New checks the config, and starts nothing. place is for the batch's sequences and the journal.
func New(cfg Config, place backends.Place) (*Trainer, error) {
	if cfg.Base == "" {
		return nil, &command.Error{What: "tinker: no base model",
			Help: "name one that the service has: --base-model Qwen/Qwen3-8B", Usage: true}
	}
	if cfg.Rank < 1 || cfg.Substeps < 1 || cfg.Passes < 1 || cfg.LearningRate <= 0 {
		return nil, &command.Error{What: fmt.Sprintf("tinker: rank %d, substeps %d, passes %d, learning rate %g", cfg.Rank, cfg.Substeps,
			cfg.Passes, cfg.LearningRate), Help: "each must be more than 0", Usage: true}
	}
	cfg.Journal = place.URI
	said, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	worker, err := command.New(command.Config{
		Words: cfg.Worker, Model: cfg.Name, Settings: map[string]string{"tinker": string(said)}, PassEnv: []string{"TINKER_API_KEY"},
		Forms: []string{"sequences"}, RowWeight: cfg.RowWeight,
	}, place)
	return &Trainer{cfg: cfg, worker: worker}, err
}

func (t *Trainer) Target() receipts.Target {
	return receipts.Target{Backend: Kind.Name, Address: address(t.cfg.URL), Model: t.cfg.Name}
}

// Preflight checks that every row has sequences, and looks for the worker. The worker checks the
// lengths and the vocabulary before it sends anything, since only the service knows them.
func (t *Trainer) Preflight(ctx context.Context, groups backends.Groups, report func(backends.Problem)) (backends.BatchStats, error) {
	stats, err := t.worker.Preflight(ctx, groups, report)
	stats.Passes = t.cfg.Passes
	return stats, err
}

// Begin returns the policy that is known, or the base model.
func (t *Trainer) Begin(ctx context.Context, known *receipts.Policy) (backends.TrainerState, error) {
	return t.worker.Begin(ctx, known)
}

// Submit writes the sequences and lets the worker train them.
func (t *Trainer) Submit(ctx context.Context, s backends.Submission, groups backends.Groups, event func(backends.JobEvent)) (backends.Outcome, error) {
	return t.worker.Submit(ctx, s, groups, event)
}

// Resolve lets the worker ask the service for the result of the last request that was sent.
func (t *Trainer) Resolve(ctx context.Context, s backends.Submission) (backends.Outcome, error) {
	return t.worker.Resolve(ctx, s)
}

// At returns the trainer for another receipt.
func (t *Trainer) At(to backends.Place) backends.Trainer {
	there, err := New(t.cfg, to)
	if err != nil { // the same settings were checked before
		return t
	}
	return there
}
