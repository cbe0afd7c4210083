// Package decision is what curate decides and leaves beside its rows: what it did with each
// trajectory, the funnel of its rules, the examples that should get more generations, and the
// state that the next epoch reads.
package decision
