// Package submit sends a curated dataset to a trainer, follows the job, and writes a receipt. It
// knows no trainer: those are in stages/backends, and the command line passes one in.
//
//	submit, options, input, write       Run; its settings; the batch; the receipt
//	prepare, job, list                  the other commands: a trainer made ready, one submission, all of them
//	preflight, row_checks, lineage, redact, tables, estimate   the batch before it is sent
//	send, settle, stall                 an attempt, how it ended, a job that does not advance
//	ledger, record, lease               what is recorded, and who owns an attempt
//	epoch, other_submissions            a policy trains an epoch once
//	errors                              kinds of errors
//
// A batch is never trained twice. Each submission is recorded in a ledger, keyed by (digest of
// what is submitted, settings, target, model); ledger.go describes its records and what a crash
// after each of them means. Trainers that advance one policy in place train an epoch of a run
// once, whatever its rows: see epoch.go.
//
// The ledger is under .rollmill/ in the folder of the run. Rollout gives the run a random id
// (runroot.Open), and every later dataset copies it. The ledger of a dataset is where that id is
// found (runroot.Find): in a folder above the dataset, else at the root that the dataset
// records. So a second working folder, another machine and a copy of the dataset find the same
// ledger, and epochs belong to the run's id, not to its name. If no place has the id, or two do,
// the command line requires --ledger, because with an empty ledger the batch could be trained
// again. A dataset that another program made has no id; its ledger is in the folder above the
// dataset.
//
// A trainer that compares answers also gets the batch's _pairs or _labels
// (Description.Compares), which are then part of the batch.
//
// To add a trainer, see stages/backends/backendtest, which has the instructions
// and a complete trainer as an example.
package submit
