package schema

// A Kind is the kind of the rows in a dataset's main table.
type Kind string

const (
	KindTrajectories Kind = "trajectories" // Trajectory, wide
	KindScores       Kind = "scores"       // Score, thin
	KindGroups       Kind = "groups"       // Member, thin
)

// Version is the version of every row kind, "major.minor". Readers
// ignore columns that a newer minor version added and refuse another major.
const Version = "2.5"

// The further tables of a dataset.
const (
	TableGroups    = "_groups"    // GroupStats, beside groups
	TablePairs     = "_pairs"     // Pair, beside groups and curated trajectories
	TableLabels    = "_labels"    // Label, beside groups and curated trajectories
	TableDecisions = "_decisions" // Decision, beside curated trajectories
	TablePlan      = "_plan"      // Planned, beside curated trajectories
	TableExamples  = "_examples"  // ExampleStats, beside curated trajectories

	TableWorkspaces = "_workspaces" // WorkspacePiece, beside the trajectories of a rollout; nothing hands it on
)

// The accepted sources of token ids, in order of preference (column
// token_source). The order follows common practice: vLLM, SGLang, vLLM's
// "token_id:N" strings, SGLang's meta_info, NeMo, vLLM's responses.
const (
	TokensChoice     = "choice.token_ids"
	TokensResponse   = "choice.response_token_ids"
	TokensInLogprobs = "logprobs.token_id"
	TokensEntryID    = "logprobs.id"
	TokensMetaInfo   = "meta_info.output_token_logprobs"
	TokensMessage    = "message.generation_token_ids"
	TokensOutput     = "response.output_messages.tokens"
)
