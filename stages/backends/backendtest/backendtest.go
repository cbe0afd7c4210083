package backendtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/stages/backends"
)

// Run tests a trainer; each scenario gets a fresh subject.
func Run(t *testing.T, fresh func(t *testing.T) Subject) {
	for _, scenario := range []struct {
		name string
		run  func(t *testing.T, s Subject)
	}{
		{"it describes itself, and its target holds no secret", describes},
		{"preflight counts the batch and has no effect", preflight},
		{"begin may be repeated and has no effect", begin},
		{"a batch is submitted and then resolved as done", submit},
		{"the rows that are shown are those that are sent", rows},
		{"what was never sent is never resolved as done", neverSent},
		{"a batch that cannot be read has no effect", unreadable},
		{"a sender that lost its lease sends nothing whole", guarded},
		{"a sender whose place was taken sends nothing whole", fenced},
		{"a cancelled sender ends at once", cancelled},
	} {
		t.Run(scenario.name, func(t *testing.T) { scenario.run(t, fresh(t)) })
	}
}

func describes(t *testing.T, s Subject) {
	d := s.Trainer.Describe()
	if d.Effect < backends.AdvancesPolicy || d.Effect > backends.KeepsBatch || d.Compares != nil && d.Use == nil || d.Cancel != nil && d.Status == nil {
		t.Errorf("%+v", d)
	}
	if diff := cmp.Diff(s.Trainer.Identity(), s.Trainer.Identity()); diff != "" {
		t.Error(diff)
	}
	one := s.Trainer.Target()
	if diff := cmp.Diff(one, s.Trainer.Target()); diff != "" || one.Backend == "" || one.Address == "" || one.Model == "" {
		t.Errorf("%+v %s", one, diff)
	}
	for _, secret := range s.Secrets {
		if strings.Contains(fmt.Sprint(one), secret) {
			t.Errorf("%+v holds a secret", one)
		}
	}
}

func preflight(t *testing.T, s Subject) {
	var first backends.BatchStats
	for i := range 2 {
		stats, err := s.Trainer.Preflight(t.Context(), Batch(), func(p backends.Problem) { t.Errorf("%+v", p) })
		if err != nil {
			t.Fatal(err)
		}
		if stats.Groups != 3 || stats.Trajectories != 12 || stats.Tokens != 24 || stats.Bytes == 0 {
			t.Errorf("%+v", stats)
		}
		if i == 0 {
			first = stats
		} else if diff := cmp.Diff(first, stats); diff != "" {
			t.Error(diff)
		}
	}
	noJobs(t, s)
}
