// Package kept keeps values that cost something to make.
package kept

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// Values are the values that were used last, by names that change when the values do. It
// is safe for concurrent use.
type Values[T any] struct {
	most int
	mu   sync.Mutex
	by   map[string]*value[T]
	uses int64

	// Dropped is called with what was made and is not or no longer kept.
	Dropped func(T)
}

type value[T any] struct {
	is   T
	used int64 // the number of its last use
}

// New returns an empty store of at most so many values.
func New[T any](most int) *Values[T] {
	return &Values[T]{most: most, by: map[string]*value[T]{}, Dropped: func(T) {}}
}

// Of returns the value of a name, made if there is none. An error is not kept.
func (k *Values[T]) Of(name string, make func() (T, error)) (T, error) {
	if v := k.use(name, nil); v != nil {
		return v.is, nil
	}
	made, err := make()
	if err != nil {
		return made, err
	}
	return k.use(name, &value[T]{is: made}).is, nil
}

// use returns the value of a name; without one it keeps what was made, unless that is nil.
func (k *Values[T]) use(name string, made *value[T]) *value[T] {
	k.mu.Lock()
	defer k.mu.Unlock()
	v := cmp.Or(k.by[name], made) // another request may have been faster
	if v == nil {
		return nil
	}
	k.uses++
	k.by[name], v.used = v, k.uses
	if len(k.by) > k.most {
		last := slices.MinFunc(slices.Collect(maps.Keys(k.by)), func(a, b string) int {
			return cmp.Compare(k.by[a].used, k.by[b].used)
		})
		k.Dropped(k.by[last].is)
		delete(k.by, last)
	}
	if made != nil && v != made {
		k.Dropped(made.is)
	}
	return v
}

// Each calls f with the values.
func (k *Values[T]) Each(f func(T)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, v := range k.by {
		f(v.is)
	}
}
