package outcomes

// Why a candidate that the agent did not score is kept (column candidates.reason).
const (
	CandidateAlternative = "alternative" // another of the n choices of one call
	CandidateRetried     = "retried"     // the agent asked again with the same prompt
)

// CandidateReasons is the closed list.
var CandidateReasons = []string{CandidateAlternative, CandidateRetried}
