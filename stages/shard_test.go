package stages

import (
	"strconv"
	"strings"
	"testing"
)

// slurm returns the variables of a task of an array.
func slurm(id, first, last, count int) map[string]string {
	return map[string]string{"SLURM_ARRAY_TASK_ID": strconv.Itoa(id), "SLURM_ARRAY_TASK_MIN": strconv.Itoa(first),
		"SLURM_ARRAY_TASK_MAX": strconv.Itoa(last), "SLURM_ARRAY_TASK_COUNT": strconv.Itoa(count)}
}

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
		{text: "auto/4", env: slurm(4, 1, 4, 4), want: Shard{Index: 3, Count: 4}},
		{text: "auto/4", env: slurm(13, 10, 13, 4), want: Shard{Index: 3, Count: 4}},
		{text: "auto/4", env: slurm(0, 0, 3, 4), want: Shard{Index: 0, Count: 4}},
		{text: "auto/4", env: slurm(2, 2, 3, 2), want: Shard{Index: 2, Count: 4}}, // submitted again
		{text: "auto/4", env: slurm(3, 1, 3, 2), want: Shard{Index: 3, Count: 4}},
		{text: "auto/4", env: slurm(3, 3, 3, 1), want: Shard{Index: 3, Count: 4}},
		{text: "auto/4", env: slurm(3, 3, 4, 2), fail: "the array has 2 indexes from 3 to 4"}, // counted from 1
		{text: "auto/4", env: slurm(2, 0, 6, 4), fail: "the array has 4 indexes from 0 to 6"}, // with a step
		{text: "auto/4", env: slurm(2, 0, 7, 8), fail: "the array has 8 indexes from 0 to 7"},
		{text: "auto/4", env: map[string]string{"SLURM_ARRAY_TASK_ID": "4", "SLURM_ARRAY_TASK_MIN": "1"}, fail: `SLURM_ARRAY_TASK_MAX="" is not a number`},
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
