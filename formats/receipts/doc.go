// Package receipts is the receipt that submit leaves of a batch: what was handed over, to whom,
// in which state the job is, and the policy that came of it.
package receipts
