package group_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/storage/fault"
)

// tasks are three examples with a topic each, of which two are the same.
func tasks() []formats.Trajectory {
	var rows []formats.Trajectory
	for i, e := range []example{{"a", "1 0"}, {"b", "0 f"}, {"c", "2 0"}} {
		of := wide(e, 0)
		for k := range of {
			version := int64(7 + k)
			of[k].PolicyVersion = &version
			of[k].Metadata = fmt.Sprintf(`{"topic": %q, "level": %d}`, []string{"sums", "words", "sums"}[i], i)
			of[k].Example = fmt.Sprintf(`{"kind": ["x", %d]}`, i%2)
		}
		rows = append(rows, of...)
	}
	return rows
}

func TestBy(t *testing.T) {
	for by, want := range map[string]string{
		"":                               "a@0: a0 a1, b@0: b0 b1, c@0: c0 c1",
		"example_id":                     "a@0: a0 a1, b@0: b0 b1, c@0: c0 c1",
		"metadata.topic":                 "sums@0: a0 a1 c0 c1, words@0: b0 b1",
		"policy_version":                 "7@0: a0 b0 c0, 8@0: a1 b1 c1",
		`example.kind`:                   `["x",0]@0: a0 a1 c0 c1, ["x",1]@0: b0 b1`,
		`metadata.level > 0`:             "false@0: a0 a1, true@0: b0 b1 c0 c1",
		`status == "failed"`:             "false@0: a0 a1 b0 c0 c1, true@0: b1",
		`[example_id, generation % 2]`:   `["a",0]@0: a0, ["a",1]@0: a1, ["b",0]@0: b0, ["b",1]@0: b1, ["c",0]@0: c0, ["c",1]@0: c1`,
		`run + "/" + string(generation)`: "run/0@0: a0 b0 c0, run/1@0: a1 b1 c1",
	} {
		for shards := 1; shards <= 3; shards++ {
			in := stored(t, "rollout", tasks(), 3)
			o := options(in, in+"-group")
			o.By = by
			d := grouped(t, o, shards)
			if got := membership(rowsOf[formats.Member](t, d, "")); got != want {
				t.Errorf("by %q in %d shards:\n got %s\nwant %s", by, shards, got, want)
			}
		}
	}
}

// membership lists each group's members.
func membership(members []formats.Member) string {
	of := map[string]string{}
	var order []string
	for _, m := range members {
		if of[m.GroupID] == "" {
			order = append(order, m.GroupID)
		}
		of[m.GroupID] += fmt.Sprintf(" %s%d", m.ExampleID, m.Generation)
	}
	for i, id := range order {
		order[i] = id + ":" + of[id]
	}
	return strings.Join(order, ", ")
}

// A group of several examples has the name of none; epochs are never mixed.
func TestGroupsBySomethingElse(t *testing.T) {
	rows := slices.Concat(tasks(), wide(example{"d", "3 1"}, 1))
	rows[6].Metadata, rows[7].Metadata = `{"topic": "sums"}`, `{"topic": "sums"}`
	in := stored(t, "rollout", rows, 1)
	o := options(in, in+"-group")
	o.By = "metadata.topic"
	d := grouped(t, o, 1)
	var lines []string
	for _, g := range rowsOf[formats.GroupStats](t, d, schema.TableGroups) {
		lines = append(lines, fmt.Sprintf("%s of %q in %d: %d of %d", g.GroupID, g.ExampleID, g.Epoch, g.Valid, g.Count))
	}
	if diff := cmp.Diff([]string{`sums@0 of "" in 0: 4 of 4`, `words@0 of "b" in 0: 1 of 2`, `sums@1 of "d" in 1: 2 of 2`}, lines); diff != "" {
		t.Error(diff)
	}
	if got := d.Params["by"]; got != "metadata.topic" {
		t.Errorf("the manifest says %v", got)
	}
}

func TestRowsWithoutKey(t *testing.T) {
	rows := tasks()
	rows[3].Metadata = `{"level": 1}`
	in := stored(t, "rollout", rows, 1)
	for by, want := range map[string]string{
		"metadata.topic":     "it has no value",
		"1 / (generation-1)": "unsupported value",
		"metadata.topic.x":   "invalid operation",
	} {
		o := options(in, in+"-group")
		o.By = by
		_, err := group.Run(t.Context(), o)
		var bad *fault.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || bad.Row < 0 || fault.HintOf(bad) == "" {
			t.Errorf("by %s: %v", by, err)
		}
	}
	o := options(in, in+"-group")
	o.By = `metadata.topic ?? "none"`
	if d := grouped(t, o, 1); d.Rows != 6 {
		t.Errorf("%d rows", d.Rows)
	}
}

// Only what the expression reads is read.
func TestByReadsItsColumnsAlone(t *testing.T) {
	rows := tasks()
	for i := range rows {
		rows[i].Metadata = "no JSON"
	}
	in := stored(t, "rollout", rows, 1)
	o := options(in, in+"-group")
	o.By = "policy_version"
	grouped(t, o, 1)
	o.By, o.Out.URI = "metadata.topic", in+"-other"
	if _, err := group.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "not a JSON object") {
		t.Errorf("got %v", err)
	}
}

func TestNeverScored(t *testing.T) {
	unscored := wide(example{"a", "u u f"}, 0)
	in := stored(t, "rollout", unscored, 1)
	o := options(in, in+"-group")
	_, err := group.Run(t.Context(), o)
	var bad *fault.Error
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), "2 wait for a reward") || !strings.Contains(fault.HintOf(bad), "score") {
		t.Errorf("got %v", err)
	}
	if _, err := dataset.Open(t.Context(), o.Out.URI, dataset.OpenOptions{}); err == nil {
		t.Error("a dataset stands all the same")
	}
	o.AllowUnscored = true
	if d := grouped(t, o, 1); d.Rows != 3 {
		t.Errorf("%d rows", d.Rows)
	}
	// All failed, or a component was looked for: nobody forgot to score.
	unscored[1].Rewards = []formats.NamedReward{{Name: "judge", Failure: outcomes.RewardTimeout}}
	for _, rows := range [][]formats.Trajectory{wide(example{"a", "f f"}, 0), unscored, nil} {
		in := stored(t, "rollout", rows, 1)
		grouped(t, options(in, in+"-group"), 1)
	}
}
