package formats

import (
	"fmt"
	"slices"
	"strings"
)

// Column documents one leaf column of a row kind. Its path is the names from
// the row down, joined by dots; lists add nothing to it.
type Column struct {
	Path     string
	Type     string // of the leaf: string, bool, int32, int64, float32, float64, timestamp, or "list of" one of them
	Unit     string // "" for names, texts and plain numbers
	Meaning  string
	Null     string // what a null says; "" when it is never null
	Volatile bool   // decided by time and machines, in no digest
	Payload  bool   // counted by payload_digest
	Heavy    bool   // stored for copying by the page, without statistics
	Since    string // the schema version that added it; "" for the first of this major version
}

// Columns documents the rows of a kind, or of a further table (by its name),
// in schema order. It is the place where columns are documented; a test keeps
// it and the structs in step.
func Columns(kind Kind) []Column {
	switch kind {
	case KindTrajectories:
		return slices.Clone(trajectoryColumns)
	case KindScores:
		return slices.Clone(scoreColumns)
	case KindGroups:
		return slices.Clone(memberColumns)
	case TableGroups:
		return slices.Clone(groupStatsColumns)
	case TablePairs:
		return slices.Clone(pairColumns)
	case TableLabels:
		return slices.Clone(labelColumns)
	case TableDecisions:
		return slices.Clone(decisionColumns)
	case TablePlan:
		return slices.Clone(plannedColumns)
	}
	return nil
}

// documented lists what Columns knows, with a title for the documentation.
var documented = []struct {
	kind  Kind
	title string
}{
	{KindTrajectories, "The wide row: one recorded attempt at an example, written by rollout and curate."},
	{KindScores, "The thin row that score writes beside each row of its base."},
	{KindGroups, "The thin row that group writes: a trajectory as a member of its group."},
	{TableGroups, "A row for each group, beside groups: statistics of its valid members, those with a reward."},
	{TablePairs, "A row for each preference, beside groups: two ways to go on from one prompt, the better one chosen."},
	{TableLabels, "A row for each scored trajectory, beside groups: an answer that is wanted or not. The manifest's facts count both kinds."},
	{TableDecisions, "A row for each trajectory that curate looked at, beside what it kept."},
	{TablePlan, "A row for each example that deserves more generations, beside what curate kept; `rollout --plan` makes them."},
}

// ColumnsMarkdown is the documentation of every column as a Markdown page.
func ColumnsMarkdown() string {
	var b strings.Builder
	b.WriteString("# Columns\n\nNames are API. *Volatile* columns are decided by time and machines and count in no digest;\n" +
		"*payload* columns are what `payload_digest` covers; *heavy* ones hold nearly all bytes.\n")
	for _, d := range documented {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| column | type | meaning | null | |\n|---|---|---|---|---|\n", d.kind, d.title)
		for _, c := range Columns(d.kind) {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", c.Path, c.typeAndUnit(), cell(c.Meaning), cell(c.Null), c.marks())
		}
	}
	return b.String()
}

func (c Column) typeAndUnit() string {
	if c.Unit == "" {
		return c.Type
	}
	return c.Type + ", " + c.Unit
}

func (c Column) marks() string {
	var out []string
	for _, m := range []struct {
		on   bool
		name string
	}{{c.Volatile, "volatile"}, {c.Payload, "payload"}, {c.Heavy, "heavy"}} {
		if m.on {
			out = append(out, m.name)
		}
	}
	return strings.Join(out, ", ")
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// under returns columns as children of a list of structs.
func under(parent string, columns []Column) []Column {
	out := slices.Clone(columns)
	for i := range out {
		out[i].Path = parent + "." + out[i].Path
	}
	return out
}

// payload marks columns as covered by payload_digest, but for volatile ones.
func payload(columns []Column) []Column {
	out := slices.Clone(columns)
	for i := range out {
		out[i].Payload = !out[i].Volatile
	}
	return out
}

func oneOf(list []string) string { return "one of " + strings.Join(list, ", ") }
