// Package find finds the datasets and receipts of a run, and in which rows of them a trajectory
// is, given its id or the beginning of one. It reads manifests and ids, no payload.
package find
