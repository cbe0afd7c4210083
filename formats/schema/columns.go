package schema

import (
	"slices"
	"strings"
)

// Column documents one leaf column of a row kind. Its path is the names from
// the row down, joined by dots; lists add nothing to the path.
type Column struct {
	Path     string
	Type     string // of the leaf: string, bool, int32, int64, float32, float64, timestamp, or "list of" one of them
	Unit     string // "" for names, text and plain numbers
	Meaning  string
	Null     string // what null means; "" when it is never null
	Volatile bool   // depends on time and machines; in no digest
	Payload  bool   // counted by payload_digest
	Heavy    bool   // copied as whole pages, without statistics
	Paged    bool   // copied as whole pages where a group fills some, though it lies with the columns that are not heavy
	Since    string // the schema version that added it; "" for the first version of this major version
}

// Columns returns the documented columns of a row kind, or of a further table
// (by its name), in the order of the structs' fields, which a test compares. Columns
// are documented only here. Parquet files of trajectories have `example` first.
func Columns(kind Kind) []Column { return slices.Clone(columns[kind]) }

var columns = map[Kind][]Column{
	KindTrajectories: trajectoryColumns,
	KindScores:       scoreColumns,
	KindGroups:       memberColumns,
	TableGroups:      groupStatsColumns,
	TablePairs:       pairColumns,
	TableLabels:      labelColumns,
	TableDecisions:   decisionColumns,
	TablePlan:        plannedColumns,
	TableExamples:    exampleStatsColumns,
	TableWorkspaces:  workspaceColumns,
}

// Documented lists what Columns knows, with a title for the page of columns.
var Documented = []struct {
	Kind  Kind
	Title string
}{
	{KindTrajectories, "The wide row: one recorded attempt at an example, written by rollout and curate."},
	{KindScores, "The thin row that score writes for each row of its base."},
	{KindGroups, "The thin row that group writes: a trajectory as a member of its group."},
	{TableGroups, "A row for each group in a dataset of groups: statistics of its valid members, those with a reward."},
	{TablePairs, "A row for each preference in a dataset of groups: two continuations of one prompt, the better one chosen."},
	{TableLabels, "A row for each scored trajectory in a dataset of groups: an answer that is desirable or not. The " +
		"manifest's facts count both kinds."},
	{TableDecisions, "A row for each input trajectory of curate, in the curated dataset."},
	{TablePlan, "A row for each example that should get more generations, in the curated dataset; `rollout --plan` " +
		"makes them."},
	{TableExamples, "A row for each example and policy version, in the curated dataset: the attempts of this epoch and of those before."},
	{TableWorkspaces, "A row for each piece of what an attempt changed in its container, in a dataset of `rollout --keep-workspace`. " +
		"Only the first piece of a trajectory has `runtime` and the columns after `digest`."},
}

// under returns columns as children of a list of structs.
func under(parent string, columns []Column) []Column {
	out := slices.Clone(columns)
	for i := range out {
		out[i].Path = parent + "." + out[i].Path
	}
	return out
}

// payload marks columns as covered by payload_digest, except volatile ones.
func payload(columns []Column) []Column {
	out := slices.Clone(columns)
	for i := range out {
		out[i].Payload = !out[i].Volatile
	}
	return out
}

func oneOf(list []string) string { return "one of " + strings.Join(list, ", ") }
