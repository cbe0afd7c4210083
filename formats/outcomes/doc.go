// Package outcomes is the closed lists of how things end: the states of a trajectory, why it
// stopped, what failed, what a finish reason means, why a reward is null and why an answer is
// kept as a candidate. A new value is a line here and in the guides that explain it.
package outcomes
