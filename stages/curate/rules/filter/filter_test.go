package filter_test

import (
	"errors"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules/filter"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestFilter(t *testing.T) {
	ruletest.Run(t, filter.Kind, curate.Options{Filters: []string{"0 < group.mean && group.mean < 1"}})
	ruletest.Run(t, filter.Kind, curate.Options{Filters: []string{"group.valid > 1", "trajectory.reward > group.mean || trajectory.answer contains \"a\""}})
}

func TestWhatIsNoCondition(t *testing.T) {
	for _, text := range []string{"group.mean", "group.meen > 0", "0 <", "now() > 1"} {
		var usage *stages.Error
		if _, err := filter.Kind.New(curate.Options{Filters: []string{text}}); !errors.As(err, &usage) || usage.Kind != stages.KindUsage || usage.Hint() == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// An expression that fails of a member refuses that member.
func TestAFilterThatFails(t *testing.T) {
	rule, err := filter.Kind.New(curate.Options{Filters: []string{"trajectory.metadata.turns > 2"}})
	if err != nil {
		t.Fatal(err)
	}
	rows := []curate.Row{
		{Member: &formats.Member{}, Trajectory: &formats.Trajectory{Metadata: `{"turns":3}`}}, {Member: &formats.Member{}, Trajectory: &formats.Trajectory{}},
	}
	v := rule.(curate.RowRule).Rows(curate.Batch{}, curate.Group{}, rows)
	if v[0].Reason != "" || v[1].Reason != formats.DropFilter || v[1].Detail == "" {
		t.Errorf("%v", v)
	}
}
