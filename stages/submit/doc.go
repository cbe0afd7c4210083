// Package submit hands a curated dataset to a trainer, follows the job, and
// leaves a receipt. It knows no trainer: those are in stages/backends, and
// the command line hands one in.
//
// A batch is never trained twice. What was begun stands in a ledger, keyed by
// (digest of what is submitted, settings, target, model); see ledger.go for its
// records and for what a death after each of them means. Trainers that advance
// one policy in place train an epoch of a run once, with whatever rows: see
// epoch.go.
//
// The ledger is under .rollmill/ in the folder of the run. Rollout gives the
// run a random id (dataset.OpenRun), every later dataset carries it on, and the
// ledger of a dataset is where that id is (dataset.FindRun): in a folder above
// the dataset, else at the root that the dataset records. So a second working
// folder, another machine and a copy of the dataset find the same ledger, and
// an epoch is that of the run's id, not of its name. Where no place holds the
// id, or two do, the command line asks for --ledger: an empty ledger would let
// the batch be trained again. Datasets without an id, which other programs
// made, have their ledger in the folder above.
//
// A trainer that compares answers is given the batch's _pairs or _labels
// (backends.Comparer), and these are part of the batch then.
//
// To add a trainer: see stages/backends/backendtest, which has the page and a
// whole one as an example.
package submit
