package stages

import (
	"strconv"
	"strings"
)

// arrayIndexes are the variables in which schedulers give the index of this
// task of n.
var arrayIndexes = []struct {
	name  string
	first string // holds the first index, when it is not zero
	from  int
}{
	{name: "SLURM_ARRAY_TASK_ID", first: "SLURM_ARRAY_TASK_MIN"},
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
		return Shard{}, Errorf(KindUsage, form, "--shard %q", text)
	}
	i := 0
	if index == "auto" {
		if i, err = arrayIndex(lookup); err != nil {
			return Shard{}, err
		}
	} else if i, err = strconv.Atoi(index); err != nil {
		return Shard{}, Errorf(KindUsage, form, "--shard %q", text)
	}
	if i < 0 || i >= n {
		return Shard{}, Errorf(KindUsage, "shards are counted from 0, the last of "+count+" is "+strconv.Itoa(n-1),
			"--shard %q: %d is not one of %d", text, i, n)
	}
	return Shard{Index: i, Count: n}, nil
}

// arrayIndex reads the index from the scheduler's environment. Two that
// disagree are an error: a wrong guess would process one shard twice and
// another never.
func arrayIndex(lookup func(string) (string, bool)) (int, error) {
	found, by := -1, ""
	for _, a := range arrayIndexes {
		text, _ := lookup(a.name)
		if text == "" || text == "-1" {
			continue
		}
		i, err := strconv.Atoi(text)
		first := a.from
		if min, _ := lookup(a.first); a.first != "" && min != "" && err == nil {
			first, err = strconv.Atoi(min)
		}
		if err != nil {
			return 0, Errorf(KindUsage, "", "--shard auto: %s=%q is not a number", a.name, text)
		}
		if i -= first; by != "" && i != found {
			return 0, Errorf(KindUsage, "say --shard I/N", "--shard auto: %s and %s disagree, %d and %d", by,
				a.name, found, i)
		}
		found, by = i, a.name
	}
	if by == "" {
		names := make([]string, len(arrayIndexes))
		for i, a := range arrayIndexes {
			names[i] = a.name
		}
		return 0, Errorf(KindUsage, "say --shard I/N", "--shard auto: none of %s is set", strings.Join(names, ", "))
	}
	return found, nil
}
