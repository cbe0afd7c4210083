package planning

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// Task is the attempts to make at one example: n of them, beginning with
// generation first.
type Task struct {
	Example int   // index among the examples
	Slot    int64 // its first attempt's, among those of all tasks
	First   int32
	N       int32
	Forks   []Fork // of the last of them
}

// Tasks is a sequence of tasks: the same number of attempts for every example
// or, with a plan, the tasks of a list.
type Tasks struct {
	from, to int   // examples, without a list
	Each     int32 // 0: there is a list

	list   []Task
	sorted []int32 // indices of the list by example; nil: the list is sorted
}

// Every returns n attempts at each example of [from, to).
func Every(from, to, n int) Tasks { return Tasks{from: from, to: to, Each: int32(n)} }

// Listed assigns slots to the tasks of a list.
func Listed(list []Task) Tasks {
	t := Tasks{list: append([]Task{}, list...)}
	slot := int64(0)
	for i := range t.list {
		t.list[i].Slot = slot
		slot += int64(t.list[i].N)
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

func (t Tasks) Len() int {
	if t.list != nil {
		return len(t.list)
	}
	return t.to - t.from
}

func (t Tasks) At(i int) Task {
	if t.list != nil {
		return t.list[i]
	}
	return Task{Example: t.from + i, Slot: int64(i) * int64(t.Each), N: t.Each}
}

// Find finds the task of an example.
func (t Tasks) Find(example int) (i int, ok bool) {
	if t.list == nil {
		return example - t.from, example >= t.from && example < t.to
	}
	if t.sorted == nil {
		return slices.BinarySearchFunc(t.list, example, func(t Task, e int) int { return cmp.Compare(t.Example, e) })
	}
	k, ok := slices.BinarySearchFunc(t.sorted, example, func(i int32, e int) int { return cmp.Compare(t.list[i].Example, e) })
	if !ok {
		return 0, false
	}
	return int(t.sorted[k]), true
}

// Slice returns one shard's part.
func (t Tasks) Slice(index, count int) Tasks {
	from, to := index*t.Len()/count, (index+1)*t.Len()/count
	if t.list != nil {
		return Listed(t.list[from:to])
	}
	return Every(t.from+from, t.from+to, int(t.Each))
}

func (t Tasks) Attempts() int64 {
	if t.Len() == 0 {
		return 0
	}
	last := t.At(t.Len() - 1)
	return last.Slot + int64(last.N)
}

// Fork says how often a prefix is continued: the calls of a trajectory before one of them.
type Fork struct {
	From string // the trajectory
	Call int32
	n    int32
}

// Fork returns the prefix that a generation continues; nil if it begins at the start. The forks
// of a task are its last generations.
func (t Task) Fork(generation int32) *Fork {
	left := t.First + t.N - generation
	for i := len(t.Forks) - 1; i >= 0; i-- {
		if left -= t.Forks[i].n; left <= 0 {
			return &t.Forks[i]
		}
	}
	return nil
}

// Forked reports whether there are forks.
func (t Tasks) Forked() bool {
	return slices.ContainsFunc(t.list, func(t Task) bool { return t.Forks != nil })
}

// byExample orders the rows of a plan: those of an example together, forks last.
func byExample(a, b Task) int {
	return cmp.Or(cmp.Compare(a.Example, b.Example), cmp.Compare(len(a.Forks), len(b.Forks)))
}

// Examples are the examples to attempt, in the order of the rows; package
// formats/examples reads such files. No id is empty or occurs twice. It is safe
// for concurrent use.
type Examples interface {
	Len() int
	At(i int) (formats.Example, error)
	Find(id string) (i int, ok bool, err error)
}

// DigestExamples returns the digest of what was read from the file: the chosen
// rows and fields.
func DigestExamples(all Examples, chosen Tasks) (string, error) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for i := range chosen.Len() {
		e, err := all.At(chosen.At(i).Example)
		if err != nil {
			return "", err
		}
		if err := enc.Encode([]string{e.ID, e.Question, e.Answer, string(e.Fields)}); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
