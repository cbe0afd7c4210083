// Package sandbox serves a small real policy behind the real protocols: OpenAI-style chat with
// logprobs and token ids, and the training endpoints of an ART server, which really update the
// policy by policy gradient. It shows the whole system learning on a machine without GPU,
// network or key. It is not a client; it knows nothing of datasets and stages. Package
// sandboxtest adds faults on request, for tests of clients.
//
// # The policy
//
// The policy is a network of two layers with its own Adam. It reads the last board drawn in the
// prompt (three lines "A . X O", "B …", "C …") from the point of view of the side to move, and
// the position within its answer. Its vocabulary has 256 bytes, role marks and the words of a
// move. It gives a probability to each of the twelve words: an end mark, <move>, </move> and
// nine squares. A fixed prior takes the place of pretraining: the untrained policy writes a
// well-formed move to a free square, each with equal probability, and errs in about one move of
// a hundred. Prompts without a board get a move, too.
//
// A prompt whose last board or sum is a sum "a + b" of digits, up to 9, gets one digit
// instead: the untrained policy writes each with equal probability. The network sees
// the two digits as two marks on the board, so it learns sums from rewards alone.
//
// # Chat
//
// It serves GET /v1/models and POST /v1/chat/completions, streaming or not. An answer depends
// only on the weights, the prompt, the seed and the sampling parameters; without a seed one is
// drawn. Logprobs are those of the distribution that was sampled, after temperature and top_p
// (vLLM calls this processed_logprobs); at temperature 0 they are those of temperature 1. Token
// ids have vLLM's form: return_token_ids and return_tokens_as_token_ids. The end mark is a
// sampled token with a logprob and no text. system_fingerprint names the step that answered.
// Penalties and logit_bias are refused. A model is "name" (its newest weights), "name@step"
// while that checkpoint is kept, or either after "project/" where two projects share a name.
//
// With tools in the request (and tool_choice, parallel_tool_calls) an answer may be tool calls
// in place of words: in nine of ten answers to a user, and in one of ten after a tool's result.
// The tool and its arguments are drawn from a prior as the schemas allow, token by token. The
// tokens are bytes between the marks <tool_call> and </tool_call>. Each has the probability it
// was drawn with, which is 1 where the schema leaves no choice. Of a schema it reads type, enum,
// const, the first of anyOf or oneOf, and the required properties; numbers have one or two
// digits, texts up to eight letters, lists are empty. Calls do not depend on the prompt and are
// not learnt: training leaves out the tokens of calls and the choice whether to call (the first
// digit of a sum is trained at its present probability). A truncated answer shows as much of its
// calls as a stream does.
//
// # Training
//
// The routes are those of an ART server 0.3 to 0.5.7. Advantages are computed from the groups as
// ART does, with the population standard deviation and 1e-6. Members with advantage 0 and groups
// of one are dropped; the rest is scaled to a mean size of 1. A trajectory's tokens share its
// weight, and the ratio to the old probabilities is clipped. The same batch gives the same
// weights in any order. Each gradient step sends one JSON line; a batch without a training
// signal sends none and advances the step.
//
// # What this server adds to ART
//
// Training is atomic. Weights, optimiser, step, counters and the submission
// that produced them are one file, renamed into place before the answer ends.
//
//	POST /_train_model with X-Rollmill-Submission: KEY
//	    trains each KEY once; a repeated request gets the recorded lines
//	GET /_rollmill/training?project=P&model=NAME&submission=KEY[&wait=0]
//	    {"atomic":true,"step":4,"busy":false,"trained_at_step":4}
//	    trained_at_step is null when the submission left no trace. Waits up to
//	    two seconds for a training in progress; busy from its first byte on.
//	GET /_rollmill/counts
//	    see Counts; they survive a restart, and a kill
//
// A choice in a training call may have its own "advantage", a number: its tokens get
// it in place of what the server computes for their trajectory.
//
// # Decisions
//
// Checkpoints hold every submission there ever was, a few hundred bytes each, so no second file
// has to agree with them. A training call whose client disconnects is finished, not rolled back,
// so that later requests about it get one clear answer. Counters are appended to a log without a
// sync: they outlive the process, which tests kill, and need not outlive the machine.
package sandbox
