package query

import (
	"math"
	"reflect"
	"slices"
	"strings"
)

// Order is a column to sort by. Nulls are last in both directions, and rows with the
// same value keep their order.
type Order struct {
	Column     string // "" for the order of the rows
	Descending bool
}

// ofRows names orders of rows, among those that are remembered; those of groups have
// another name.
const ofRows = "rows"

// idColumn is the column of trajectories that is sorted without keys: see byID.
const idColumn = "trajectory_id"

// componentPrefix begins the names of the columns of named rewards.
const componentPrefix = "rewards."

// key is what a row or a group is sorted by, ordered as an integer; nullKey for null.
type key func(i uint32) uint64

const nullKey = math.MaxUint64

// column is a column that rows can be sorted by.
type column interface{ key() key }

// rowKey returns the key of a column of trajectories, nil if there is none, or for
// idColumn.
func (x *Index) rowKey(name string) key {
	if name == "" || name == "row" {
		return func(row uint32) uint64 { return uint64(row) }
	}
	c := map[string]column{
		"group_id": &x.groups, "example_id": &x.examples, "run": words{x.run}, "epoch": whole[int32]{x.epoch},
		"generation": whole[int32]{x.generation}, "status": words{x.status}, "stop_reason": words{x.stop},
		"failure_class": words{x.failure}, "model": words{x.model}, "policy_version": whole[int64]{x.policy},
		"decision": words{x.drop}, "reward": floats(x.reward), "advantage": floats(x.advantage),
		"prompt_tokens": counts(x.prompt), "completion_tokens": counts(x.completion), "sampled_tokens": counts(x.sampled),
	}[name]
	for _, r := range x.components {
		if componentPrefix+r.name == name {
			c = floats(r.values)
		}
	}
	if c == nil {
		return nil
	}
	return c.key()
}

// groupKey returns the key of a column of groups, nil if there is none.
func (x *Index) groupKey(column string) key {
	switch column {
	case "":
		return func(g uint32) uint64 { return uint64(g) }
	case "group_id":
		rank := textRanks(x.groups.texts.len(), x.groups.texts.of)
		return func(g uint32) uint64 { return uint64(rank[g]) }
	}
	for f := range reflect.TypeFor[Group]().Fields() {
		if f.Tag.Get("expr") == column {
			return func(g uint32) uint64 {
				v := reflect.ValueOf(&x.table[g]).Elem().FieldByIndex(f.Index)
				return floatBits(v.Convert(reflect.TypeFor[float64]()).Float())
			}
		}
	}
	return nil
}

// floatBits returns a number as an integer with the same order, nullKey for NaN.
func floatBits(v float64) uint64 {
	switch b := math.Float64bits(v + 0); { // -0 and 0 are the same
	case v != v:
		return nullKey
	case b>>63 == 1:
		return ^b
	default:
		return b | 1<<63
	}
}

type (
	floats                 []float64
	counts                 []int32
	words                  struct{ *numbered[string] } // "" is null
	whole[T int32 | int64] struct{ *numbered[T] }
)

func (f floats) key() key { return func(row uint32) uint64 { return floatBits(f[row]) } }

func (c counts) key() key { return func(row uint32) uint64 { return uint64(int64(c[row]) + 1<<32) } }

func (n words) key() key {
	rank := textRanks(len(n.values), func(i uint32) string { return n.values[i] })
	return func(row uint32) uint64 {
		code := n.at(row)
		if n.values[code] == "" {
			return nullKey
		}
		return uint64(rank[code])
	}
}

func (n whole[T]) key() key {
	return func(row uint32) uint64 { return uint64(int64(n.of(row))) ^ 1<<63 }
}

func (n *named) key() key {
	rank := textRanks(n.texts.len(), n.texts.of)
	return func(row uint32) uint64 { return uint64(rank[n.codes[row]]) }
}

// textRanks returns the place of each text among all, sorted.
func textRanks(n int, of func(uint32) string) []uint32 {
	texts := make([]string, n)
	order := make([]uint32, n)
	for i := range order {
		order[i], texts[i] = uint32(i), of(uint32(i))
	}
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(texts[a], texts[b]) })
	out := make([]uint32, n)
	for place, i := range order {
		out[i] = uint32(place)
	}
	return out
}

// digitBits is the size of the digits of a radix sort: so few that the places where
// the next of each go are in the processor's cache.
const digitBits = 11

// keyed is a number and its key.
type keyed struct {
	key uint64
	i   uint32
}

// resorted sorts numbers by their keys. Those with the same key keep their order. It
// is a radix sort: several times faster than comparing, and a page waits for it.
func resorted(numbers []uint32, of key, descending bool) []uint32 {
	from, to := make([]keyed, len(numbers)), make([]keyed, len(numbers))
	var differ uint64
	for at, i := range numbers {
		k := of(i)
		if descending && k != nullKey {
			k = ^k // not nullKey: 0 is the key of no value where there are nulls
		}
		from[at] = keyed{k, i}
		differ |= k ^ from[0].key
	}
	const digits = 1 << digitBits
	for shift := 0; shift < 64; shift += digitBits {
		if differ>>shift%digits == 0 {
			continue
		}
		var first [digits + 1]uint32
		for _, x := range from {
			first[x.key>>shift%digits+1]++
		}
		for d := range digits {
			first[d+1] += first[d]
		}
		for _, x := range from {
			at := &first[x.key>>shift%digits]
			to[*at] = x
			*at++
		}
		from, to = to, from
	}
	for at, x := range from {
		numbers[at] = x.i
	}
	return numbers
}

// ComponentColumn returns the column of a named reward.
func ComponentColumn(name string) string { return componentPrefix + name }
