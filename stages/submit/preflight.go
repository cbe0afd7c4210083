package submit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/storage/fault"
)

// How many problems a result lists; all are counted.
const (
	keepProblems = 100
	keepDry      = 10_000 // of a dry run
)

// preflight checks the whole batch, and refuses it if any row cannot be sent: a
// group that lost a member on the way would train on other advantages.
func (s *session) preflight(ctx context.Context) error {
	meter := s.Meter("submit", "groups", 0)
	defer meter.Done()
	meter.Note("checking")
	bad := map[string]bool{}
	stats, err := s.Trainer.Preflight(ctx, s.watched(ctx), func(p backends.Problem) {
		stages.Count(&s.result.Failures, p.Reason, 1)
		bad[p.GroupID+" "+p.TrajectoryID] = true
		s.name(p)
	})
	if err != nil {
		return kinded(err)
	}
	if s.rows != nil { // the key depends on the manifest's digest
		if err := s.rows.End(); err != nil {
			return err
		}
	}
	if s.made != nil {
		stats.Notes = append(stats.Notes, s.made.notes(s.Epoch)...)
		s.price(&stats)
	}
	if err := s.lookAtTables(); err != nil {
		return err
	}
	if s.Redact != nil {
		stats.Redacted = &s.redacted
		stats.Notes = append(stats.Notes, "redacted: "+s.redacted.String())
	}
	var unsound error
	if s.doctor != nil {
		var notes []string
		notes, unsound = s.diagnose(s.doctor)
		stats.Notes = append(stats.Notes, notes...)
	}
	s.stats, s.result.Stats = stats, &stats
	for _, note := range stats.Notes {
		s.Logger().Warn(note)
	}
	if len(bad) == 0 {
		return unsound
	}
	first := s.result.Problems[0]
	var reasons []string
	for _, r := range slices.Sorted(maps.Keys(s.result.Failures)) {
		reasons = append(reasons, fmt.Sprintf("%s %d", r, s.result.Failures[r]))
	}
	what := fmt.Sprintf("%s in what would be sent to %s (%s); the first: ", plural.Of(len(bad), "problem"), s.target.Backend,
		strings.Join(reasons, ", "))
	if len(bad) == 1 {
		what = fmt.Sprintf("it cannot be sent to %s (%s): ", s.target.Backend, first.Reason)
	}
	hint := cmp.Or(first.Hint, "see the row with `rollmill show DATASET`, and drop such rows with curate")
	return fault.Invalid(s.data.URI(), hint, nil, "%s%s%s", what, place(first), first.Detail)
}

func (s *session) name(p backends.Problem) {
	keep := keepProblems
	if s.DryRun {
		keep = keepDry
	}
	if len(s.result.Problems) < keep {
		s.result.Problems = append(s.result.Problems, p)
	}
}

func place(p backends.Problem) string {
	switch {
	case p.TrajectoryID == "" && p.GroupID == "": // of the whole batch
		return ""
	case p.TrajectoryID == "":
		return fmt.Sprintf("group %q: ", p.GroupID)
	}
	return fmt.Sprintf("trajectory %q of group %q: ", p.TrajectoryID, p.GroupID)
}
