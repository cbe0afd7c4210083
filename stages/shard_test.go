package stages

import (
	"strings"
	"testing"
)

func TestShard(t *testing.T) {
	for _, c := range []struct {
		text string
		env  map[string]string
		want Shard
		fail string // part of the error
	}{
		{text: "", want: Shard{}},
		{text: "0/1", want: Shard{Index: 0, Count: 1}},
		{text: "3/4", want: Shard{Index: 3, Count: 4}},
		{text: "4/4", fail: "4 is not one of 4"},
		{text: "-1/4", fail: "-1 is not one of 4"},
		{text: "1/0", fail: "--shard"},
		{text: "1", fail: "--shard"},
		{text: "a/b", fail: "--shard"},
		{text: "auto/4", fail: "none of SLURM_ARRAY_TASK_ID"},
		{text: "auto/4", env: map[string]string{"SLURM_ARRAY_TASK_ID": "2"}, want: Shard{Index: 2, Count: 4}},
		{text: "auto/4", env: map[string]string{"SLURM_ARRAY_TASK_ID": "4", "SLURM_ARRAY_TASK_MIN": "1"}, want: Shard{Index: 3, Count: 4}},
		{text: "auto/4", env: map[string]string{"JOB_COMPLETION_INDEX": "0"}, want: Shard{Index: 0, Count: 4}},
		{text: "auto/4", env: map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "1"}, want: Shard{Index: 1, Count: 4}},
		{text: "auto/4", env: map[string]string{"PARALLEL_SEQ": "1"}, want: Shard{Index: 0, Count: 4}},
		{text: "auto/4", env: map[string]string{"AIRFLOW_CTX_MAP_INDEX": "3"}, want: Shard{Index: 3, Count: 4}},
		{text: "auto/4", env: map[string]string{"AIRFLOW_CTX_MAP_INDEX": "-1"}, fail: "none of"},
		{text: "auto/4", env: map[string]string{"PARALLEL_SEQ": "1", "JOB_COMPLETION_INDEX": "0"}, want: Shard{Index: 0, Count: 4}},
		{text: "auto/4", env: map[string]string{"PARALLEL_SEQ": "1", "JOB_COMPLETION_INDEX": "2"}, fail: "disagree"},
		{text: "auto/2", env: map[string]string{"JOB_COMPLETION_INDEX": "2"}, fail: "2 is not one of 2"},
		{text: "auto/2", env: map[string]string{"JOB_COMPLETION_INDEX": "x"}, fail: "is not a number"},
	} {
		got, err := ParseShard(c.text, func(name string) (string, bool) { v, ok := c.env[name]; return v, ok })
		switch {
		case c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)):
			t.Errorf("%q in %v: error %v, want one with %q", c.text, c.env, err, c.fail)
		case c.fail == "" && (err != nil || got != c.want):
			t.Errorf("%q in %v: %v, %v, want %v", c.text, c.env, got, err, c.want)
		}
	}
}
