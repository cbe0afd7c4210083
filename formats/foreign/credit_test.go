package foreign

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/training"
)

// asFile returns what a format makes of some groups.
func asFile(t *testing.T, f exporters.Format, all [][]formats.Trajectory) string {
	t.Helper()
	var out bytes.Buffer
	pass := exporters.NewPass(exporters.Exports([]exporters.Format{f})[:1], trainset.Choice{}, formats.Tables{}, exporters.Place{
		Begin: func(string) (io.Writer, error) { return &out, nil },
		Put:   func(_, _ string, data []byte) error { _, err := out.Write(data); return err },
		Drop:  func(exporters.File, *exporters.Item, string) {}})
	defer pass.Close()
	for _, group := range all {
		if err := pass.Add(group, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range pass.Writers {
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// credited gives each sampled message what set sets.
func credited(set func(t *formats.Trajectory, message int)) [][]formats.Trajectory {
	all := groups()
	for _, group := range all {
		for i := range group {
			for m := range group[i].Messages {
				if group[i].Trained(m) {
					set(&group[i], m)
				}
			}
		}
	}
	return all
}

// TestFormatsHoldWhatTheySay: what a format says that it has a place for is in its file, and of
// what it refuses there is nothing.
func TestFormatsHoldWhatTheySay(t *testing.T) {
	advantages := credited(func(t *formats.Trajectory, m int) {
		each := make([]float32, len(t.Messages[m].TokenIDs))
		for k := range each {
			each[k] = 0.375 + float32(k)
		}
		t.Advantages = append(t.Advantages, training.MessageAdvantage{Message: int32(m), Value: 0.375, Tokens: each})
	})
	losses := credited(func(t *formats.Trajectory, m int) {
		t.Losses = append(t.Losses, training.MessageLoss{Message: int32(m), Loss: training.LossCE, Weight: 0.625})
	})
	everything := []string{"trajectories", "rows", "arrow", "arrow-stream", "csv"} // tables of the row's own columns
	refuse := map[string]string{}
	for _, f := range Exporters {
		plain := asFile(t, f, groups())
		for what, rows := range map[string][][]formats.Trajectory{"advantages of single messages": advantages, "losses of single messages": losses} {
			least := map[string]exporters.Credit{"advantages of single messages": exporters.OfTokens, "losses of single messages": exporters.OfLosses}[what]
			if holds := asFile(t, f, rows) != plain; holds != (f.Credit >= least) && !slices.Contains(everything, f.Name) {
				t.Errorf("%s has the credit %d; that its file holds %s is %v", f.Name, f.Credit, what, holds)
			}
			if lacks := f.Lacks(&rows[0][0]); lacks != "" {
				if lacks != what {
					t.Errorf("%s lacks %q of rows with %s", f.Name, lacks, what)
				}
				refuse[f.Name] += lacks[:1]
			}
			left := slices.Clone(rows[0])
			exporters.OfTrajectory.Apply(left)
			if lacks := f.Lacks(&left[0]); lacks != "" || asFile(t, f, [][]formats.Trajectory{left}) != asFile(t, f, groups()[:1]) {
				t.Errorf("%s of rows whose %s were left out lacks %q", f.Name, what, lacks)
			}
		}
	}
	if art := refuse["art"]; len(refuse) != 3 || len(art) != 2 || refuse["slime"] != "l" || refuse["verifiers"] != "l" {
		t.Errorf("%v", refuse)
	}
}

// TestALossThatIsTheDefault needs no place.
func TestALossThatIsTheDefault(t *testing.T) {
	for weight, want := range map[float64]string{1: "", 0.5: "losses of single messages"} {
		row := formats.Trajectory{Losses: []training.MessageLoss{{Loss: training.LossRL, Weight: weight}}}
		if got := (exporters.Format{Credit: exporters.OfTrajectories}).Lacks(&row); got != want {
			t.Errorf("weight %g: %q", weight, got)
		}
	}
}
