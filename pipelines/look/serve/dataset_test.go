package serve

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/show"
)

// TestDatasetPage checks that a dataset's page says what show prints of it, and its digests last.
func TestDatasetPage(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	scores := scoredEpoch(t, root, func([]formats.Trajectory) {})
	v, err := show.Show(t.Context(), root+"/epoch-0/score", show.Options{Summary: true})
	if err != nil || len(v.Summary.Reward.Bins) < 2 || len(v.Summary.Lacking) == 0 {
		t.Fatalf("%+v, %v", v.Summary, err)
	}
	r := reads(t, root)
	page := r.page("/d/epoch-0%2Fscore")
	mean, ends, _ := strings.Cut(v.Summary.Reward.String(), ", ")
	texts := []string{"rows of scores", "Reward</dt><dd>" + mean, fmt.Sprintf("%s; %d of %d rows have one", ends, v.Summary.Reward.Count, len(scores)), "Sampled tokens",
		"<h2>Rewards</h2>"}
	for _, b := range v.Summary.Reward.Bins {
		texts = append(texts, fmt.Sprintf(`<td>%s</td><td><meter value="%d" max="%d"`, b.Name(), b.Count, v.Summary.Reward.Count))
	}
	texts = append(texts, "<h2>Status</h2>", outcomes.StatusOK, "<h2>Failures</h2>")
	r.has(page, append(texts, "Made from", "Columns and digests", "<code>shaped_rewards</code>", v.Manifest.Identity, v.Manifest.RowsDigest.String())...)
	for reason, n := range v.Summary.Lacking {
		if !strings.Contains(page, fmt.Sprintf("<td>%s</td><td>%d</td>", reason, n)) {
			t.Errorf("no failures %s %d", reason, n)
		}
	}
	if long := regexp.MustCompile(`[1-9]\d*\.\d{6,}`).FindString(page); long != "" {
		t.Errorf("a number of many digits: %s", long)
	}
	rollout := r.page("/d/epoch-0%2Frollout")
	r.has(rollout, "written by rollout", "Sampled tokens", "Columns and digests")
	if strings.Contains(rollout, "Rows by outcome") || !strings.Contains(page, "Rows by outcome") {
		t.Error("the status of a rollout's rows is shown twice")
	}
}

// TestFiguresHaveFewDigits: sums of facts are shown with six digits, parameters as they are.
func TestFiguresHaveFewDigits(t *testing.T) {
	for want, v := range map[string]any{"725.496": 725.4964979434232, "512": 512.0, "1.5e+07": 1.5e7, "0": 0.0, `"0.1000000001"`: "0.1000000001", "NaN": math.NaN()} {
		if got := asJSON(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// TestCopiedDatasetsKeepTheirTime: pages say when a dataset was complete, not when its files were copied, and
// nothing if that is not known.
func TestCopiedDatasetsKeepTheirTime(t *testing.T) {
	runs := t.TempDir()
	from, root := filepath.Join(runs, "run"), filepath.Join(runs, "copy")
	scoredEpoch(t, from, func([]formats.Trajectory) {})
	if err := os.CopyFS(root, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	for stage, with := range map[string]string{"rollout": `"written": "2024-05-06T07:08:09Z"`, "score": `"other": 1`} {
		name := filepath.Join(root, "epoch-0", stage, manifest.FileName)
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		at := regexp.MustCompile(`"written": "[^"]*"`).FindString(string(data))
		when, err := time.Parse(time.RFC3339, strings.Trim(strings.TrimPrefix(at, `"written": `), `"`))
		if since := time.Since(when); err != nil || since < 0 || since > time.Hour {
			t.Fatalf("the writer notes %s: %v", at, err)
		}
		if err := os.WriteFile(name, []byte(strings.Replace(string(data), at, with, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := reads(t, root)
	epoch := r.page("/e/0")
	for stage, shown := range map[string]string{"rollout": "2024-05-06 07:08", "score": "-"} {
		if want := fmt.Sprintf(`">%s</a></td><td>%s</td>`, stage, shown); !strings.Contains(epoch, want) {
			t.Errorf("no %s in\n%s", want, epoch)
		}
	}
	r.has(r.page("/d/epoch-0%2Frollout"), "written by rollout on 2024-05-06 07:08 UTC")
	r.has(r.page("/d/epoch-0%2Fscore"), "written by score.")

	for _, of := range []string{"score", "score-2"} { // rollout is then the last dataset
		if err := os.Rename(filepath.Join(root, "epoch-0", of), filepath.Join(t.TempDir(), of)); err != nil {
			t.Fatal(err)
		}
	}
	page := reads(t, runs).page("/")
	if !strings.Contains(page, "2024-05-06 07:08") || strings.Contains(page, "not noted") || strings.Index(page, ">run</a>") > strings.Index(page, ">copy</a>") {
		t.Errorf("the copied run is new:\n%s", page)
	}
	name := filepath.Join(root, "epoch-0", "rollout", manifest.FileName)
	data, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, []byte(strings.Replace(string(data), `"written": "2024-05-06T07:08:09Z"`, `"other": 1`, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if page := reads(t, runs).page("/"); !strings.Contains(page, "not noted") {
		t.Errorf("a run whose last dataset notes no time has one:\n%s", page)
	}
}

// TestDiffGroupsEqualAnswers: trajectories with the same rewards and the same answer are one row.
func TestDiffGroupsEqualAnswers(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	rows := make([]formats.Trajectory, 60)
	sets := [2][]formats.Score{}
	for i := range rows {
		answer := map[bool]string{true: "no such order", false: fmt.Sprintf("order %d", i)}[i < 40]
		rows[i] = formats.Trajectory{TrajectoryID: formats.TrajectoryID("run", "order", 0, i), ExampleID: "order", Generation: int32(i), Run: "run", Example: "{}",
			Status: outcomes.StatusOK, StopReason: outcomes.StopDone, Messages: []formats.Message{said(-1, "user", "Look.")}, Answer: answer}
		rows[i].SetPayloadDigest()
		for side, value := range []float64{0.1, map[bool]float64{true: -45, false: 1 + float64(i)}[i < 40]} {
			sets[side] = append(sets[side], formats.Score{TrajectoryID: rows[i].TrajectoryID, ExampleID: "order", Generation: int32(i), Status: outcomes.StatusOK,
				Reward: &value, Rewards: []formats.NamedReward{{Name: "won", Value: &value, Weight: 1}}})
		}
	}
	rollout := written(t, root+"/epoch-0/rollout", manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, [][]formats.Trajectory{rows}, -1)
	for side, name := range []string{"a", "b"} {
		dir := root + "/epoch-0/" + name
		base := rollout.Ref("base", dir)
		written(t, dir, manifest.Spec{Stage: "score", Kind: schema.KindScores, Inputs: []manifest.Ref{base}, Base: &base}, [][]formats.Score{sets[side]}, 0)
	}
	r := reads(t, root)
	page := r.page("/diff?a=epoch-0%2Fa&b=epoch-0%2Fb")
	if n := strings.Count(page, "no such order"); n != 1 {
		t.Errorf("the same answer is in %d rows", n)
	}
	r.has(page, "order 59", "<summary>and 39 more</summary>", `">order #`, "are one row")
	if n := strings.Count(page, "won 0.1 → "); n != 21 {
		t.Errorf("%d rows, want 21", n)
	}
}
