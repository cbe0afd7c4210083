package main

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages"
)

func TestShard(t *testing.T) {
	for _, c := range []struct {
		text string
		env  map[string]string
		want stages.Shard
		fail string // part of the error
	}{
		{text: "", want: stages.Shard{}},
		{text: "0/1", want: stages.Shard{Index: 0, Count: 1}},
		{text: "3/4", want: stages.Shard{Index: 3, Count: 4}},
		{text: "4/4", fail: "4 is not one of 4"},
		{text: "-1/4", fail: "-1 is not one of 4"},
		{text: "1/0", fail: "--shard"},
		{text: "1", fail: "--shard"},
		{text: "a/b", fail: "--shard"},
		{text: "auto/4", fail: "none of SLURM_ARRAY_TASK_ID"},
		{text: "auto/4", env: map[string]string{"SLURM_ARRAY_TASK_ID": "2"}, want: stages.Shard{Index: 2, Count: 4}},
		{text: "auto/4", env: map[string]string{"SLURM_ARRAY_TASK_ID": "4", "SLURM_ARRAY_TASK_MIN": "1"}, want: stages.Shard{Index: 3, Count: 4}},
		{text: "auto/4", env: map[string]string{"JOB_COMPLETION_INDEX": "0"}, want: stages.Shard{Index: 0, Count: 4}},
		{text: "auto/4", env: map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "1"}, want: stages.Shard{Index: 1, Count: 4}},
		{text: "auto/4", env: map[string]string{"PARALLEL_SEQ": "1"}, want: stages.Shard{Index: 0, Count: 4}},
		{text: "auto/4", env: map[string]string{"AIRFLOW_CTX_MAP_INDEX": "3"}, want: stages.Shard{Index: 3, Count: 4}},
		{text: "auto/4", env: map[string]string{"AIRFLOW_CTX_MAP_INDEX": "-1"}, fail: "none of"},
		{text: "auto/4", env: map[string]string{"PARALLEL_SEQ": "1", "JOB_COMPLETION_INDEX": "0"}, want: stages.Shard{Index: 0, Count: 4}},
		{text: "auto/4", env: map[string]string{"PARALLEL_SEQ": "1", "JOB_COMPLETION_INDEX": "2"}, fail: "disagree"},
		{text: "auto/2", env: map[string]string{"JOB_COMPLETION_INDEX": "2"}, fail: "2 is not one of 2"},
		{text: "auto/2", env: map[string]string{"JOB_COMPLETION_INDEX": "x"}, fail: "is not a number"},
	} {
		got, err := parseShard(c.text, func(name string) (string, bool) { v, ok := c.env[name]; return v, ok })
		switch {
		case c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)):
			t.Errorf("%q in %v: error %v, want one with %q", c.text, c.env, err, c.fail)
		case c.fail == "" && (err != nil || got != c.want):
			t.Errorf("%q in %v: %v, %v, want %v", c.text, c.env, got, err, c.want)
		}
	}
}

// TestFlags holds every flag to the house style, and keeps one meaning for
// one name.
func TestFlags(t *testing.T) {
	usages := map[string]string{}
	for section, flags := range schema() {
		seen := map[string]bool{}
		for _, f := range flags {
			d := describe(f)
			if seen[d.name] {
				t.Errorf("%s: two flags --%s", section, d.name)
			}
			seen[d.name] = true
			if d.usage == "" || d.category == "" {
				t.Errorf("%s --%s has no usage or category", section, d.name)
			}
			if d.takesValue && d.placeholder == "VALUE" {
				t.Errorf("%s --%s names no placeholder in backticks", section, d.name)
			}
			if section != "" && flagNamed(globalFlags(), d.name) != nil {
				t.Errorf("%s --%s hides the global flag", section, d.name)
			}
			usages[d.name] = d.usage
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"generations", "group", "curriculum-initial", "concurrency"}
	for word, want := range map[string]string{
		"generatons": `did you mean "generations"?`, "grup": `did you mean "group"?`,
		"curriculum_initial": `did you mean "curriculum-initial"?`, "zebra": "no idea",
	} {
		if got := nearest(word, known, "no idea"); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
