// Package tidy removes from a run what is no longer needed, and merges the many small parts of a
// dataset into few large ones (Compact; shards.Compact does the work).
//
// It removes what killed writers left, and datasets of old epochs by rule. Look
// makes the plan and changes nothing; Apply carries it out.
//
// A dataset is removed in two steps. First, unless another process changed the
// manifest meanwhile, it is replaced by one that says when and why the dataset was
// removed. Then the parts are removed. A process that dies in between leaves a
// dataset that opens with a clear error, and the next prune finishes.
//
// The ledger, receipts, the policy, the newest epoch and an epoch whose submission is not
// finished are never touched. Neither is a folder in which a command wrote recently.
//
// By default only rollouts are removed. The thin datasets of their epoch keep
// every figure that the report and explain show, and the curated dataset has
// copies of the rows that were trained on.
//
// Multipart uploads that were never finished are not removed: every object store
// has a lifecycle rule for them.
package tidy
