// Package sequences turns trajectories into what a trainer learns from:
// sequences of tokens, each with a loss mask, log probabilities, policy versions
// and a weight.
//
// A trajectory is a tree of messages. Its histories are the paths from the root
// to a leaf on which something trains: the main path first, then the others by
// their leaf. A message that trains does so in one history: the main path's if
// it is on it, else that of the lowest leaf below it. On the other paths through
// it, it is part of the prompt.
//
// A history gives one sequence for each stretch in which every prompt continues
// the tokens before it. Where a prompt does not (column prefix_break: a chat
// template removed reasoning, a harness compacted the history, ...), the next
// sequence begins with the whole prompt, exactly as the engine saw it. So every
// sampled token of a call to the target is in exactly one sequence, behind the
// very tokens it was sampled after, and nothing is tokenised again. Alternatives
// that the agent did not choose are in column candidates and in no sequence.
//
// # Weights
//
// Several sequences of one trajectory would count several times. A weight
// corrects this: with w the weight of a sequence, its trainer's loss is the sum
// over sequences s and tokens k of w(s) a(s) l(s,k), where a is how the trainer
// aggregates. Per says what is worth the same, and so the coefficient d = w a
// that each token of s, in trajectory i, should have:
//
//	trajectory   d = 1 / T(i)     every trajectory counts the same
//	sequence     d = 1 / T(s)     every sequence does
//	token        d = 1            every token does
//
//	token mean, sum over a constant   a = 1
//	mean of the sequences' means      a = 1 / T(s)
//	mean of the trajectories' means   a = 1 / T(i)
//
// with T the number of sampled tokens that train. Weights are scaled so that the
// sum of w a over all tokens of the batch is that of a alone: a weight changes
// what counts how much, and not the learning rate. With N trajectories, S
// sequences and T tokens in the batch:
//
//	                token mean         sequence mean      trajectory mean
//	trajectory      T/N / T(i)         S/N T(s)/T(i)      1
//	sequence        T/S / T(s)         1                  N/S T(i)/T(s)
//	token           1                  T(s) / (T/S)       T(i) / (T/N)
//
// A weight that is positive may be folded into the advantage: exact for a
// clipped policy loss, which is linear in the advantage where it is positive and
// where it is negative; not for a KL term, which has no advantage.
package sequences
