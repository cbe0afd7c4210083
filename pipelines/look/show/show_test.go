package show

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/datasettest"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/looktest"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/countingtest"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestShowReadsOnlyItsColumns checks that the payload, which is nearly all of a
// dataset, is not read for other columns, even when every row is searched.
func TestShowReadsOnlyItsColumns(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	rollout, _ := looktest.ScoredRun(t, root, randomtest.Options{Groups: 150, Scored: true}, func(*formats.Trajectory, *formats.Score) {})
	for _, o := range []Options{
		{Rows: 5},
		{Rows: 5, First: 700},
		{Rows: 5, Columns: []string{"model", "metadata"}},
		{Rows: 5, Columns: []string{"model"}, Failed: true},
		{Rows: 5, Sort: "reward", Desc: true},
	} {
		var moved countingtest.Counter
		v, err := Show(storage.Wrapping(t.Context(), moved.Wrap), rollout.URI(), o)
		if err != nil || !o.Failed && len(v.Rows) != o.Rows {
			t.Errorf("%+v: %d rows, %v", o, len(v.Rows), err)
		}
		if names := v.Columns; !slices.Contains(names, "failure_class") || slices.Contains(names, "messages.role") {
			t.Errorf("%+v: its columns are %q", o, names)
		}
		light := rollout.Bytes / 10
		if o.Sort != "" { // all light columns are
			light *= 2
		}
		if n := moved.Read(); n > light {
			t.Errorf("%+v: %d of %d bytes were read", o, n, rollout.Bytes)
		}
	}
}

// TestFailedNeedsNoBase shows the failed rows of scores whose rollout is gone.
func TestFailedNeedsNoBase(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	rollout, score := looktest.ScoredRun(t, root, randomtest.Options{Groups: 30, Scored: true, Failures: 0.5}, func(*formats.Trajectory, *formats.Score) {})
	if err := os.RemoveAll(rollout.URI()); err != nil {
		t.Fatal(err)
	}
	v, err := Show(t.Context(), score.URI(), Options{Rows: 3, Failed: true, Columns: []string{"reward"}})
	if err != nil || len(v.Rows) != 3 || len(v.Rows[0].Is) != 1 {
		t.Errorf("%+v, %v", v.Rows, err)
	}
	if _, err := Show(t.Context(), score.URI(), Options{Rows: 3, Failed: true, Sort: "reward"}); !errors.Is(err, storage.ErrNotExist) {
		t.Errorf("sorted without its base: %v", err)
	}
}

// TestShowColumns checks columns chosen by name: of a newer version of the schema,
// lists and groups, nulls, all, and one that does not exist.
func TestShowColumns(t *testing.T) {
	uri := filepath.Join(t.TempDir(), "rollout")
	rows, err := datasettest.Newer(t.Context(), uri, 2)
	if err != nil {
		t.Fatal(err)
	}
	show := func(columns ...string) View {
		t.Helper()
		v, err := Show(t.Context(), uri, Options{Rows: 100, Columns: columns})
		if err != nil || len(v.Rows) != len(rows) {
			t.Fatalf("%d rows, %v", len(v.Rows), err)
		}
		return v
	}
	v := show("effort", "tags", "calls", "run", "effort", "error")
	for i := range rows {
		var got struct {
			Effort *float64
			Tags   []string
			Calls  []struct {
				Model   string
				Latency *int64 `json:"latency_ms"`
			}
			Run   string
			Error *string
		}
		data, err := json.Marshal(v.Rows[i].Is)
		if err == nil {
			err = json.Unmarshal(data, &got)
		}
		want := &rows[i]
		if err != nil || got.Run != want.Run || strings.Join(got.Tags, " ") != strings.Join(want.Tags, " ") || (got.Effort == nil) != (want.Effort == nil) ||
			got.Effort != nil && *got.Effort != *want.Effort || len(got.Calls) != len(want.Calls) || (got.Error == nil) != (want.Error == "") {
			t.Errorf("row %d: %s, %v", i, data, err)
		}
		for k, call := range got.Calls {
			if call.Model != want.Calls[k].Model || *call.Latency != want.Calls[k].LatencyMS {
				t.Errorf("row %d: %s", i, data)
			}
		}
	}
	var text strings.Builder
	if err := show("all").WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"\nrow ", " trajectory_id ", " messages ", " metadata ", " steps"} {
		if !strings.Contains(text.String(), name) {
			t.Errorf("no column %q:\n%s", name, text.String())
		}
	}
	_, err = Show(t.Context(), uri, Options{Rows: 1, Columns: []string{"run", "effrot"}})
	var bad *fault.Error
	if !errors.As(err, &bad) || !strings.Contains(bad.What, `no column "effrot"`) || !strings.Contains(bad.Help, "note, effort") {
		t.Errorf("%v", err)
	}
}

// TestSummaryFitsScreen checks the width and the height of the summary, with many
// values, wide characters and long names, and of a dataset without rows.
func TestSummaryFitsScreen(t *testing.T) {
	wide := strings.Repeat("東京", 60)
	for _, groups := range []int{0, 40} {
		root := filepath.Join(t.TempDir(), wide[:30])
		var params = map[string]any{}
		for i := range 40 {
			params[fmt.Sprintf("parameter-%02d", i)] = wide
		}
		var rows [][]formats.Trajectory
		if groups > 0 {
			for group := range randomtest.Trajectories(1, randomtest.Options{Groups: groups, Scored: true, Failures: 0.3, SampledTokens: 20, PromptTokens: 20}) {
				for i := range group {
					v := float64(i*7+len(rows)) / 16
					group[i].Reward = &v
				}
				rows = append(rows, group)
			}
		}
		looktest.Write(t, root, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories, Params: params}, rows, -1)
		v, err := Show(t.Context(), root, Options{Rows: 5, Summary: true})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := v.WriteSummary(&b, false); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) > 23 {
			t.Errorf("%d lines", len(lines))
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line) + strings.Count(line, "東") + strings.Count(line, "京"); n > 80 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		if groups > 0 {
			sum := int64(0)
			for _, bin := range v.Summary.Reward.Bins {
				sum += bin.Count
			}
			if sum != v.Summary.Reward.Count || sum != 320 || len(v.Summary.Reward.Bins) != maxBins || !strings.Contains(b.String(), "█") {
				t.Errorf("%+v\n%s", v.Summary.Reward, b.String())
			}
		}
	}
}

// TestSampledTokensUnknown checks that tokens of answers without logprobs, which nobody counted, are not 0.
func TestSampledTokensUnknown(t *testing.T) {
	for want, completion := range map[string]int32{"; sampled unknown": 5, "; sampled mean 0, 0 to 0": 0} {
		root := filepath.Join(t.TempDir(), "rollout")
		looktest.Write(t, root, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories},
			[][]formats.Trajectory{{{TrajectoryID: "a", Example: "{}", Status: "ok", PromptTokens: 7, CompletionTokens: completion}}}, -1)
		v, err := Show(t.Context(), root, Options{Rows: 5, Summary: true})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := v.WriteSummary(&b, false); err != nil || !strings.Contains(b.String(), "prompt mean 7, 7 to 7"+want) {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
}

// TestWhereReadsLightColumns checks that rows are chosen without their payload, and
// that all columns of those chosen can be had.
func TestWhereReadsLightColumns(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	rollout, score := looktest.ScoredRun(t, root, randomtest.Options{Groups: 150, Scored: true}, func(r *formats.Trajectory, s *formats.Score) {
		s.TrajectoryID = r.TrajectoryID
	})
	var moved countingtest.Counter
	o := Options{Rows: 3, Columns: []string{"trajectory_id"}, Where: `example_id == "example-000100" && generation >= 2 && generation != 4`}
	v, err := Show(storage.Wrapping(t.Context(), moved.Wrap), score.URI(), o)
	if err != nil || len(v.Rows) != 3 || v.Rows[0].Row != 802 || v.Rows[1].Row != 803 || v.Rows[2].Row != 805 {
		t.Errorf("%+v, %v", v.Rows, err)
	}
	if n := moved.Read(); n > rollout.Bytes/4 {
		t.Errorf("%d of %d bytes were read", n, rollout.Bytes)
	}
	found := 0
	err = Raw(t.Context(), rollout.URI(), Options{Rows: 2, Columns: []string{"all"}, Where: "messages > 5"}, func(row Row) error {
		data, err := json.Marshal(row.Is)
		if found++; err != nil || !strings.Contains(string(data), `"messages":[{"parent":-1`) {
			t.Errorf("%.200s, %v", data, err)
		}
		return nil
	})
	if err != nil || found != 2 {
		t.Errorf("%d rows, %v", found, err)
	}
}
