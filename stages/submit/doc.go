// Package submit hands a curated dataset to a trainer, follows the job, and
// leaves a receipt. It knows no trainer: those are in stages/backends, and
// the command line hands one in.
//
// A batch is never trained twice. What was begun stands in a ledger, keyed by
// (digest of what is submitted, target, model); see ledger.go for its records
// and for what a death after each of them means.
//
// A trainer that compares answers is given the batch's _pairs or _labels
// (Comparer), and these are part of the batch then.
//
// To add a trainer: see stages/backends/backendtest, which has the page and a
// whole one as an example.
package submit
