// Package eval measures a policy on held-out examples: it runs rollout and score
// and computes figures. It does not group, curate or train. The trajectories and
// scores are in two ordinary datasets, rollout and score, which the other commands
// can read.
//
// Trajectories of one example are not independent, so every interval is over
// the examples: the mean of the examples' means, with Student's t over their
// spread. pass@k is the mean over the examples of 1 - C(n-c,k)/C(n,k), where n
// of an example's trajectories have a reward and c of these reach the
// threshold. An example with fewer than k is excluded and counted. The interval of
// one example is Wilson's, over its attempts, and so is that of a rate that is 0 or 1 in
// every example, over the examples.
//
// A trajectory that failed or has no reward is not counted as 0: it is excluded,
// and the number of such trajectories is reported. With
// MeasureOptions.FailuresCount it counts as an unsolved attempt.
//
// To add a figure, add a field to Figures, and a line in figures and WriteText.
//
// # Try
//
// Try makes a few attempts at the first examples of a run, before an epoch
// is paid for. It runs rollout, score and group with the run's own settings, in a
// folder that its caller removes. It reports the result of each attempt and what
// an epoch would cost. It has no rollout, reward or estimator of its own, and
// trains nothing.
//
// Gates refuse nothing here, because users who try settings must see the dataset
// that a gate would refuse. TryResult.Gates has what the gates would have reported.
//
// To add a figure, add a field to Attempt or TryResult and a line to try_text.go.
package eval
