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
