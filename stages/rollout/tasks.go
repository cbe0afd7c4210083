package rollout

import (
	"cmp"
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// task is the attempts to make at one example: n of them, beginning with
// generation first.
type task struct {
	example int   // index among the examples
	slot    int64 // its first attempt's, among those of all tasks
	first   int32
	n       int32
	forks   []fork // of the last of them
}

// tasks is a sequence of tasks: the same number of attempts for every example
// or, with a plan, the tasks of a list.
type tasks struct {
	from, to int // examples, without a list
	each     int32

	list   []task
	sorted []int32 // indices of the list by example; nil: the list is sorted
}

// every returns n attempts at each example of [from, to).
func every(from, to, n int) tasks { return tasks{from: from, to: to, each: int32(n)} }

// listed assigns slots to the tasks of a list.
func listed(list []task) tasks {
	t := tasks{list: append([]task{}, list...)}
	slot := int64(0)
	for i := range t.list {
		t.list[i].slot = slot
		slot += int64(t.list[i].n)
	}
	if slices.IsSortedFunc(list, byExample) {
		return t
	}
	t.sorted = make([]int32, len(list))
	for i := range t.sorted {
		t.sorted[i] = int32(i)
	}
	slices.SortFunc(t.sorted, func(a, b int32) int { return byExample(list[a], list[b]) })
	return t
}

func (t tasks) len() int {
	if t.list != nil {
		return len(t.list)
	}
	return t.to - t.from
}

func (t tasks) at(i int) task {
	if t.list != nil {
		return t.list[i]
	}
	return task{example: t.from + i, slot: int64(i) * int64(t.each), n: t.each}
}

// of finds the task of an example.
func (t tasks) of(example int) (i int, ok bool) {
	if t.list == nil {
		return example - t.from, example >= t.from && example < t.to
	}
	if t.sorted == nil {
		return slices.BinarySearchFunc(t.list, example, func(t task, e int) int { return cmp.Compare(t.example, e) })
	}
	k, ok := slices.BinarySearchFunc(t.sorted, example, func(i int32, e int) int { return cmp.Compare(t.list[i].example, e) })
	if !ok {
		return 0, false
	}
	return int(t.sorted[k]), true
}

// slice returns one shard's part.
func (t tasks) slice(index, count int) tasks {
	from, to := index*t.len()/count, (index+1)*t.len()/count
	if t.list != nil {
		return listed(t.list[from:to])
	}
	return every(t.from+from, t.from+to, int(t.each))
}

func (t tasks) attempts() int64 {
	if t.len() == 0 {
		return 0
	}
	last := t.at(t.len() - 1)
	return last.slot + int64(last.n)
}

// located is a row's task, and its attempt's slot.
type located struct {
	task int
	slot int64
}

// locate finds the attempt that made a row; ok is false if it is not among the
// tasks.
func (o Options) locate(t tasks, k key) (at located, ok bool, err error) {
	example, ok, err := o.Examples.Find(k.example)
	if !ok || err != nil || k.run != o.Run || int(k.epoch) != o.AtEpoch() {
		return at, false, err
	}
	if at.task, ok = t.of(example); !ok {
		return at, false, nil
	}
	task := t.at(at.task)
	at.slot = task.slot + int64(k.generation-task.first)
	return at, k.generation >= task.first && k.generation < task.first+task.n, nil
}

type key struct {
	run        string
	example    string
	epoch      int32
	generation int32
}

func keyOf(t *formats.Trajectory) key { return key{t.Run, t.ExampleID, t.Epoch, t.Generation} }
