// Package prove computes the numbers of an epoch again from what is stored, on any
// machine and at any time: each reward from the trajectories, each advantage from the
// rewards, the curated rows from both, the sequences and their weights that the trainer got
// from the curated rows, the counts of the receipt, and the loss that the trainer gave back
// from its log probabilities. It names the first number that differs.
//
// A dataset is made again from the inputs and the settings in its manifest, in a folder that is
// removed. Its identity has to be the stored one, which shows that both are the same. What
// needs a model or a service cannot be made again, and the result says so.
//
// To prove a further stage: add it to Stages and to again.
package prove
