package convert

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestExportRefusesCreditOfMessages: before a byte of any row is written, and only if the row is
// exported.
func TestExportRefusesCreditOfMessages(t *testing.T) {
	root := t.TempDir()
	o := randomtest.Options{Groups: 3, Generations: 4, Messages: 5, SampledTokens: 30, PromptTokens: 30, Scored: true}
	var groups [][]formats.Trajectory
	for rows := range randomtest.Trajectories(9, o) {
		for i := range rows {
			advantage := float64(i) - 1.5
			rows[i].Advantage = &advantage
		}
		groups = append(groups, rows)
	}
	spec := manifest.Spec{Stage: "curate", Version: 1, Kind: schema.KindTrajectories}
	plain := written(t, storage.Join(root, "plain"), spec, groups, -1).URI()
	last := &groups[2][3]
	for i := range last.Messages {
		if last.Trained(i) {
			last.Advantages = append(last.Advantages, training.MessageAdvantage{Message: int32(i), Value: float64(i)})
			last.Losses = append(last.Losses, training.MessageLoss{Message: int32(i), Loss: training.LossCE, Weight: 0.1})
		}
	}
	steps := written(t, storage.Join(root, "steps"), spec, groups, -1).URI()
	export := func(o ExportOptions, in string) (string, error) {
		var out bytes.Buffer
		o.In, o.Out, o.Stdout, o.Lossy = in, "-", &out, true
		_, err := Export(t.Context(), o)
		return out.String(), err
	}
	for name, what := range map[string]string{"art": "advantages", "slime": "losses", "verifiers": "losses"} {
		of := ExportOptions{To: files(t, name)}
		out, err := export(of, steps)
		var input *fault.Error
		if !errors.As(err, &input) || out != "" || !strings.Contains(err.Error(), last.TrajectoryID) || !strings.Contains(err.Error(), name+" cannot hold "+what) ||
			!strings.Contains(fault.HintOf(input), "--advantages trajectory") {
			t.Errorf("%s: %v, %d bytes", name, err, len(out))
		}
		want, err := export(of, plain)
		if err != nil {
			t.Fatal(err)
		}
		of.Advantages = exporters.OfTrajectory
		if got, err := export(of, steps); err != nil || got != want {
			t.Errorf("%s: %v, and it is not what a dataset without them gives", name, err)
		}
		of.Advantages, of.Where = exporters.OfMessages, "advantage < 1.5"
		if got, err := export(of, steps); err != nil || got == "" {
			t.Errorf("%s: a row that is not exported is refused: %v", name, err)
		}
	}
	out := storage.Join(root, "out")
	if _, err := Export(t.Context(), ExportOptions{In: steps, To: files(t, "sequences", "art"), Out: out}); err == nil {
		t.Error("exported")
	}
	if _, err := os.ReadDir(out); !os.IsNotExist(err) {
		t.Errorf("something is there: %v", err)
	}
	for _, name := range []string{"sequences.jsonl", "rows", "chat"} {
		if _, err := export(ExportOptions{To: files(t, name)}, steps); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
