// Package run says where each dataset of a run lies, so that a run's root and an
// epoch give every stage its inputs and its output:
//
//	<root>/policy                                              the first receipt, of submit --prepare
//	<root>/epoch-<e>/{rollout,score,group,curate,submit}
//	<root>/epoch-<e>/validation/{rollout,score}
//	<root>/epoch-<e>/extended/{rollout,score,group,curate,submit}  refills of a plan
//	<root>/.rollmill                                           the run's id, and the ledger
//
// It computes addresses and reads nothing. How an epoch's folder is called is
// known to formats/dataset, which finds a dataset's root by it.
package run

import (
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/storage"
)

// Layout is where the datasets of one run lie.
type Layout struct {
	Root string // URI; what follows a question mark is kept in every address
}

// Policy is the receipt of the policy before the first epoch.
func (l Layout) Policy() string { return storage.Join(l.Root, "policy") }

// Epoch is the folder of an epoch.
func (l Layout) Epoch(e int) string { return storage.Join(l.Root, dataset.EpochFolder(e)) }

// Stage is what a stage of an epoch writes.
func (l Layout) Stage(e int, stage string) string { return storage.Join(l.Epoch(e), stage) }

// Validation is what a stage writes when held-out examples are played.
func (l Layout) Validation(e int, stage string) string {
	return storage.Join(l.Epoch(e), "validation", stage)
}

// Sampled is the receipt of the policy that an epoch's rollout samples.
func (l Layout) Sampled(e int) string {
	if e == 0 {
		return l.Policy()
	}
	return l.Stage(e-1, "submit")
}

// Previous is the curated dataset whose state an epoch's curate continues, ""
// for the first epoch.
func (l Layout) Previous(e int) string {
	if e == 0 {
		return ""
	}
	return l.Stage(e-1, "curate")
}

// Input is what a stage reads of its epoch, "" for rollout, which reads none.
func (l Layout) Input(e int, stage string, validation bool) string {
	before, ok := inputs[stage]
	switch {
	case !ok:
		return ""
	case validation:
		return l.Validation(e, before)
	}
	return l.Stage(e, before)
}

// inputs are the stages whose output a stage reads.
var inputs = map[string]string{"score": "rollout", "group": "score", "curate": "group", "submit": "curate"}
