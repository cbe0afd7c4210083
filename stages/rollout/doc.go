// Package rollout runs an agent several times on each example and writes the
// attempts, with every model call exactly as it was sampled, as one wide
// dataset.
//
// It is not an agent (agents/ holds those, one folder each, and how to add one), not a proxy
// (recorder/ is) and not a judge of the agent: its rows have no reward.
//
// Its floors: planning says which attempts there are, agents what an agent is, recorder what the
// model was asked and answered, and watch when a run ends early. This package runs the attempts
// (rollout.go, runner.go, attempt.go), resumes them (resume.go, calls.go, retry.go) and writes the rows
// (write.go, extend.go).
//
// Finished trajectories are journalled, and so are the answered calls of the others: a run
// that was killed resumes where it stopped and asks the engine only for the calls that were
// in flight (calls.go, recorder/resume.go). When two commands
// run the same shard at once, one makes the attempts and the other waits,
// because each would pay for all of them: see turn.
//
// # Memory
//
// Memory depends on how many trajectories run at once, not on how many there
// are: an example is read when its attempt begins, and one bit per attempt
// records which are made. Writing the rows takes sixteen bytes per row to sort
// them. A plan takes 24 bytes per example, and an extended dataset 16 per
// group.
//
// # More generations
//
// Curate writes a plan of the examples that deserve more generations
// (Options.Plan): only these are attempted, as often as the plan says. In the
// epoch of the plan their numbers continue those of the existing generations,
// so that no id is used twice; in another epoch they start at 0. With
// Options.Extend the new rows are written among the rollouts that the plan was
// made from. The existing rows are copied, page by page where this version
// wrote them. They keep their ids and order, failures too, and each group is
// followed by its new rows. So scores can be carried over, and partial groups
// are completed, not made again. Extending by two halves of a plan equals
// extending once. The manifest counts groups of more than one policy version,
// and curate's staleness rule distinguishes their members.
//
// The alternative, a dataset of the new rows alone next to the old one, would
// make every later stage search for the members of a group in several datasets.
//
// # Forks
//
// A plan may ask for forks of recorded trajectories: the agent runs from its start, the calls before
// one are answered from disk, and that call and those after it are sampled (fork_origins.go). So a fork needs no
// help of the agent, and its tools run again. It is a row of its own, numbered after the attempts of
// its example, with forked_from and fork_call. Its repeated calls are no target, have no tokens and count in no
// budget. An attempt that asks something else before the repeated calls are all made fails as diverged.
package rollout
