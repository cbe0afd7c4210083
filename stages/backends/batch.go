package backends

import (
	"fmt"
	"iter"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/sequences"
)

// Groups yields a batch, one group at a time, in the dataset's order. It may be
// iterated several times; each time reads the dataset anew. The slice and what
// it points at belong to the reader until the next step.
type Groups = iter.Seq2[[]formats.Trajectory, error]

// Problem is a reason not to submit a batch.
type Problem struct {
	GroupID      string `json:"group_id,omitempty"`
	TrajectoryID string `json:"trajectory_id,omitempty"` // "" for the whole group
	Reason       string `json:"reason"`                  // from the trainer's closed list
	Detail       string `json:"detail,omitempty"`
	Hint         string `json:"hint,omitempty"`
}

// CheckCredit reports rows that say of single messages what a format has no place for.
func CheckCredit(f exporters.Format, rows []formats.Trajectory, report func(Problem)) {
	for i := range rows {
		if what := f.Lacks(&rows[i]); what != "" {
			report(Problem{rows[i].Group(), rows[i].TrajectoryID, exporters.MessageCredit,
				fmt.Sprintf("%s has no place for %s", f.Name, what), exporters.LacksHint})
		}
	}
}

// BatchStats counts the content of a batch.
type BatchStats struct {
	Groups       int64    `json:"groups"`
	Trajectories int64    `json:"trajectories"`
	Sequences    int64    `json:"sequences"` // what the trainer will tokenize; branches count
	Tokens       int64    `json:"tokens"`    // sampled tokens that train
	Bytes        int64    `json:"bytes"`     // in the trainer's own form
	Notes        []string `json:"notes,omitempty"`

	Files  []FileStats `json:"files,omitempty"`  // for a trainer that writes files
	Checks []string    `json:"checks,omitempty"` // the reasons that were checked, of the trainer's closed list
	Total  int64       `json:"total,omitempty"`  // estimated tokens of the whole batch, context included
	Passes int64       `json:"passes,omitempty"` // the trainer's passes over them, if known; 0 counts as 1
	Cost   *float64    `json:"cost,omitempty"`   // of training on them at the price given

	Redacted *redaction.Counts `json:"redacted,omitempty"` // what --redact removed; nil without it
}

// AddGroup counts a group, its trajectories, and the sampled tokens. The
// trainer counts Sequences and Bytes, which depend on its form.
func (s *BatchStats) AddGroup(rows []formats.Trajectory) {
	s.Groups++
	s.Trajectories += int64(len(rows))
	for i := range rows {
		s.Tokens += int64(rows[i].SampledTokens)
	}
}

// Balances returns the balance of each file of sequences; nil without one.
func (s *BatchStats) Balances() (out map[string]receipts.Balance) {
	for _, f := range s.Files {
		if f.Sequences == nil || f.Unfit != "" {
			continue
		}
		if out == nil {
			out = map[string]receipts.Balance{}
		}
		out[f.Name] = f.Sequences.Balance()
	}
	return out
}

// FileStats counts the content of one file of a batch.
type FileStats struct {
	Name    string           `json:"name"`
	Rows    int64            `json:"rows"`
	Skipped map[string]int64 `json:"skipped,omitempty"` // groups, pairs or labels without a row, by reason
	Unfit   string           `json:"unfit,omitempty"`   // why it is not written

	Sequences *sequences.Tally `json:"sequences,omitempty"` // of a form of sequences: the tokens that go in and come out
}

// Number returns the value of a hyperparameter that is a number as YAML and JSON
// decode it, and reports whether it is one. NaN is a number: it is in no range.
func Number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
