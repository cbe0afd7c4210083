// Package diff compares two datasets over the same trajectories, by their rewards or by their
// advantages, in one epoch or in all epochs of a run.
package diff
