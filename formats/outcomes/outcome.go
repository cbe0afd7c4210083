package outcomes

// The states of a trajectory (column status). Each trajectory ends in exactly one.
const (
	StatusOK        = "ok"
	StatusTruncated = "truncated" // the model ran out of tokens, the agent out of turns
	StatusFailed    = "failed"    // failure_class says why; never trained, excluded from its group
	StatusSkipped   = "skipped"   // not attempted: a budget was spent, or the example is blank
)

// Statuses, StopReasons and FailureClasses are closed lists, in display order.
var (
	Statuses    = []string{StatusOK, StatusTruncated, StatusFailed, StatusSkipped}
	StopReasons = []string{StopDone, StopLength, StopTurns, StopMaxCalls, StopMaxTokens, StopError, StopTimeout,
		StopCancelled, StopBudget, StopSkipped}

	FailureClasses = []string{FailAgentExit, FailAgentOutput, FailTimeout, FailEngine, FailEngineRefused, FailAbandoned, FailNoCalls,
		FailNoLogprobs, FailLogprobMismatch, FailBadLogprobs, FailUnfinished, FailModelMismatch, FailExample, FailSecret, FailDiverged,
		FailTooLarge, FailImage, FailStart, FailVerifier, FailLimit, FailAmbiguousMerge, FailLateCall, FailCancelled, FailInternal}
)

// Why a trajectory stopped, as the runner saw it.
const (
	StopDone      = "done"
	StopLength    = "length"
	StopTurns     = "turns"
	StopMaxCalls  = "max_calls"  // it requested one call more than it may make
	StopMaxTokens = "max_tokens" // its calls used as many tokens as they may
	StopError     = "error"
	StopTimeout   = "timeout"
	StopCancelled = "cancelled"
	StopBudget    = "budget"
	StopSkipped   = "skipped"
)

// What failed, when status is failed.
const (
	FailAgentExit       = "agent_exit"       // the program ended with a non-zero code or a signal
	FailAgentOutput     = "agent_output"     // the program's output could not be read, or was too long
	FailTimeout         = "timeout"          // the trajectory's time limit
	FailEngine          = "engine"           // the engine could not be reached or kept failing
	FailEngineRefused   = "engine_refused"   // the engine refused the request (4xx)
	FailAbandoned       = "abandoned"        // the agent did not wait for the answer to a call, and no later call made up for it
	FailNoCalls         = "no_calls"         // the agent ended without calling the model
	FailNoLogprobs      = "no_logprobs"      // the engine returned none
	FailLogprobMismatch = "logprob_mismatch" // entries are not one per completion token
	FailBadLogprobs     = "bad_logprobs"     // NaN, or positive
	// the last answer's finish reason is neither one of ended nor one of truncated answers (see FinishState)
	FailUnfinished     = "unfinished"
	FailModelMismatch  = "model_mismatch" // another model or policy version answered
	FailTooLarge       = "too_large"      // one of its columns has more bytes than fit into a page of a dataset
	FailExample        = "example"        // the example cannot be templated
	FailSecret         = "secret"         // the conversation held a secret of the process; redacted, without tokens
	FailDiverged       = "diverged"       // a fork asked something else than its origin; with --resume strict, an attempt than before its process died
	FailImage          = "image"          // the environment's image could not be built or brought
	FailStart          = "start"          // the environment's container could not be started
	FailVerifier       = "verifier"       // the environment's verifier left no reward that counts
	FailLimit          = "limit"          // the agent was killed, as by the environment's limit of memory
	FailCancelled      = "cancelled"
	FailAmbiguousMerge = "ambiguous_merge" // an imported call that several attempts could have made, or a log that contradicts itself
	FailLateCall       = "late_call"       // an imported call of a conversation that an earlier night imported without it
	FailInternal       = "internal"
)

// Why a candidate that the agent did not score is kept (column candidates.reason).
const (
	CandidateAlternative = "alternative" // another of the n choices of one call
	CandidateRetried     = "retried"     // the agent asked again with the same prompt
)

// CandidateReasons is the closed list.
var CandidateReasons = []string{CandidateAlternative, CandidateRetried}

// Why a reward is null (columns failure, rewards.failure).
const (
	RewardTrajectory = "trajectory" // the trajectory itself failed or was skipped
	RewardMissing    = "missing"    // not computed, or a field that it reads is missing
	RewardCrashed    = "crashed"    // the program or service ended
	RewardTimeout    = "timeout"
	RewardAnswer     = "answer"    // its answer was invalid
	RewardNotFinite  = "nonfinite" // NaN or an infinity
	RewardError      = "error"     // it reported a failure, or the expression failed
	RewardComponent  = "component" // a component of a weighted sum has no value
)

// RewardFailures is the closed list.
var RewardFailures = []string{RewardTrajectory, RewardMissing, RewardCrashed, RewardTimeout, RewardAnswer, RewardNotFinite,
	RewardError, RewardComponent}
