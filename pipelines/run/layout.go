// Package run has the layout of a run: the URI of each dataset. A run's root and an
// epoch determine the inputs and the output of every stage:
//
//	<root>/policy                                              the first receipt, of submit --prepare
//	<root>/epoch-<e>/{rollout,score,group,curate,submit}
//	<root>/epoch-<e>/{echo,echo-<receipt>}                     scores by what a trainer gave back
//	<root>/epoch-<e>/validation/{rollout,score}
//	<root>/epoch-<e>/<name>, <root>/epoch-<e>/validation/<name>  further scores, of score --as
//	<root>/epoch-<e>/extended/{rollout,score,group,curate,submit}  refills of a plan; the next is in extended/extended
//	<root>/.rollmill                                           the run's id, and the ledger
//
// It computes URIs and reads nothing. The name of an epoch's folder is in
// formats/dataset, which finds a dataset's root by it.
package run

import (
	"regexp"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/storage"
)

// Layout gives the URIs of one run's datasets.
type Layout struct {
	Root string // URI; the part after a question mark is kept in every URI
}

// Policy returns the URI of the receipt of the policy before the first epoch.
func (l Layout) Policy() string { return storage.Join(l.Root, "policy") }

// Epoch returns the folder of an epoch.
func (l Layout) Epoch(e int) string { return storage.Join(l.Root, runroot.EpochFolder(e)) }

// Stage returns the output of a stage of an epoch.
func (l Layout) Stage(e int, stage string) string { return storage.Join(l.Epoch(e), stage) }

// Validation returns the output of a stage that runs held-out examples.
func (l Layout) Validation(e int, stage string) string {
	return storage.Join(l.Epoch(e), "validation", stage)
}

// Sampled returns the receipt of the policy that an epoch's rollout samples.
func (l Layout) Sampled(e int) string {
	if e == 0 {
		return l.Policy()
	}
	return l.Stage(e-1, "submit")
}

// EchoOf returns the scores by what a trainer gave back, beside its receipt: echo beside
// submit, and echo-NAME beside a receipt NAME, so that those of two trainers lie apart.
func EchoOf(receipt string) string {
	dir, name := storage.Split(receipt)
	if name == "submit" {
		return storage.Join(dir, "echo")
	}
	return storage.Join(dir, "echo-"+name)
}

// ReceiptOf returns the receipt beside which EchoOf lies.
func ReceiptOf(echo string) string {
	dir, name := storage.Split(echo)
	if receipt, other := strings.CutPrefix(name, "echo-"); other {
		return storage.Join(dir, receipt)
	}
	return storage.Join(dir, "submit")
}

// Input returns the dataset that a stage reads in its epoch, or "" for rollout.
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

// inputs maps a stage, or a command that reads one dataset, to the stage whose output it reads.
var inputs = map[string]string{"score": "rollout", "group": "score", "curate": "group", "submit": "curate",
	"export": "curate"}

var own = regexp.MustCompile(`^(rollout|score|group|curate|submit|validation|extended|echo(-.*)?|[^A-Za-z0-9].*|.*[^A-Za-z0-9._-].*|)$`)

// OfUser reports whether further scores of an epoch may have a folder of this name.
func OfUser(folder string) bool { return !own.MatchString(folder) }
