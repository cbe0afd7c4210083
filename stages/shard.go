package stages

import (
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/storage/fault"
)

// arrayIndexes are the variables in which schedulers give the index of this task of n.
var arrayIndexes = []struct {
	name  string
	array string // prefix of the variables MIN, MAX and COUNT of an array, which may begin anywhere and have gaps
	from  int
}{
	{name: "SLURM_ARRAY_TASK_ID", array: "SLURM_ARRAY_TASK_"},
	{name: "JOB_COMPLETION_INDEX"},
	{name: "AWS_BATCH_JOB_ARRAY_INDEX"},
	{name: "PARALLEL_SEQ", from: 1},
	{name: "AIRFLOW_CTX_MAP_INDEX"}, // -1 for a task that is not mapped
}

// ParseShard reads "i/n" and "auto/n"; "" is all of the work.
func ParseShard(text string, lookup func(string) (string, bool)) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	const form = "write I/N with I from 0, as in 0/4, or auto/4"
	index, count, ok := strings.Cut(text, "/")
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 1 {
		return Shard{}, fault.Errorf(fault.Usage, form, "--shard %q", text)
	}
	i := 0
	if index == "auto" {
		if i, err = arrayIndex(n, lookup); err != nil {
			return Shard{}, err
		}
	} else if i, err = strconv.Atoi(index); err != nil {
		return Shard{}, fault.Errorf(fault.Usage, form, "--shard %q", text)
	}
	if i < 0 || i >= n {
		return Shard{}, fault.Errorf(fault.Usage, "shards are counted from 0, the last of "+count+" is "+strconv.Itoa(n-1),
			"--shard %q: %d is not one of %d", text, i, n)
	}
	return Shard{Index: i, Count: n}, nil
}

// firstIndex returns the index that stands for shard 0 in an array of jobs. An array of n
// jobs in a row may begin anywhere. One of fewer is a part that is submitted again, whose
// indexes are those of the shards. Of any other nobody knows which shards it means.
func firstIndex(array string, n int, lookup func(string) (string, bool)) (int, error) {
	var of [3]int
	for i, name := range []string{"MIN", "MAX", "COUNT"} {
		text, _ := lookup(array + name)
		if text == "" && i == 0 {
			return 0, nil // the scheduler says nothing of the array
		}
		if number, err := strconv.Atoi(text); err == nil {
			of[i] = number
		} else {
			return 0, fault.Errorf(fault.Usage, "say --shard I/N", "--shard auto: %s=%q is not a number", array+name, text)
		}
	}
	switch min, max, count := of[0], of[1], of[2]; {
	case count == n && max-min == n-1:
		return min, nil
	case count < n && max < n:
		return 0, nil
	default:
		return 0, fault.Errorf(fault.Usage, "the indexes of an array are those of the shards: --array=0-"+strconv.Itoa(n-1)+", or those that are missing",
			"--shard auto/%d: the array has %d indexes from %d to %d", n, count, min, max)
	}
}

// arrayIndex reads the index from the scheduler's environment. Two that disagree are an error: a
// wrong guess would process one shard twice and another never.
func arrayIndex(n int, lookup func(string) (string, bool)) (int, error) {
	found, by := -1, ""
	for _, a := range arrayIndexes {
		text, _ := lookup(a.name)
		if text == "" || text == "-1" {
			continue
		}
		i, err := strconv.Atoi(text)
		if err != nil {
			return 0, fault.Errorf(fault.Usage, "", "--shard auto: %s=%q is not a number", a.name, text)
		}
		first := a.from
		if a.array != "" {
			if first, err = firstIndex(a.array, n, lookup); err != nil {
				return 0, err
			}
		}
		if i -= first; by != "" && i != found {
			return 0, fault.Errorf(fault.Usage, "say --shard I/N", "--shard auto: %s and %s disagree, %d and %d", by,
				a.name, found, i)
		}
		found, by = i, a.name
	}
	if by == "" {
		names := make([]string, len(arrayIndexes))
		for i, a := range arrayIndexes {
			names[i] = a.name
		}
		return 0, fault.Errorf(fault.Usage, "say --shard I/N", "--shard auto: none of %s is set", strings.Join(names, ", "))
	}
	return found, nil
}
