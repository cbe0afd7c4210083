package rules

import (
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const reasonDuplicate = "duplicate" // another member of its group has the same content

// Duplicate refuses members with exactly the same content as another of
// their group: the same sampled messages, in text, reasoning and tool calls
// (apart from the calls' ids), after the same other messages. The member of the
// lowest generation is kept. Rule near_duplicate refuses near duplicates.
var Duplicate = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{Name: "duplicate",
		Help: "drop members with the same content as an earlier one of their group",
		New: func() curate.RuleSettings {
			return &Switch{Flag: "drop-duplicates", Does: curate.Rule{Rows: duplicates}, Common: true,
				Help: "drop members with the same content as an earlier one of their group"}
		}},
	Reasons: []string{reasonDuplicate},
}

func duplicates(_ curate.Batch, _ curate.Group, rows []curate.Row) []curate.Verdict {
	first := map[xxh3.Uint128]int{}
	keys := make([]xxh3.Uint128, len(rows))
	for i, r := range rows {
		keys[i] = digest(r.Trajectory)
		at, known := first[keys[i]]
		if !known || curate.ByGeneration(r.Member, rows[at].Member) < 0 {
			first[keys[i]] = i
		}
	}
	verdicts := make([]curate.Verdict, len(rows))
	for i := range rows {
		if at := first[keys[i]]; at != i {
			verdicts[i] = curate.Verdict{Reason: reasonDuplicate,
				Detail: fmt.Sprintf("generation %d says the same", rows[at].Member.Generation)}
		}
	}
	return verdicts
}

// digest returns a digest of the content of the whole tree, without ids, tokens and counts.
func digest(t *formats.Trajectory) xxh3.Uint128 {
	h := xxh3.New()
	write := func(parts ...string) {
		for _, p := range parts {
			fmt.Fprintf(h, "%d:%s", len(p), p)
		}
	}
	for i := range t.Messages {
		m := &t.Messages[i]
		fmt.Fprintf(h, "%d %v %d;", m.Parent, m.Sampled, len(m.ToolCalls))
		write(m.Role, m.Content, m.ContentParts, m.Name, m.Reasoning)
		for _, c := range m.ToolCalls {
			write(c.Name, c.Arguments)
		}
	}
	return h.Sum128()
}
