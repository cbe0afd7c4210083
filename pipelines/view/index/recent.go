package index

import (
	"slices"
	"sync"
)

// maxRecent is the number of orders, and of conditions, that an index remembers.
const maxRecent = 4

// recent holds what was used last, by name.
type recent[T any] struct {
	mu   sync.Mutex
	list []remembered[T] // the one used last at the end
}

type remembered[T any] struct {
	name  string
	value T
}

// of returns what has a name, made if it is not remembered.
func (r *recent[T]) of(name string, make func() (T, error)) (T, error) {
	if v, known := r.use(name); known {
		return v, nil
	}
	v, err := make()
	if err != nil {
		return v, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == maxRecent {
		r.list = slices.Delete(r.list, 0, 1)
	}
	r.list = append(r.list, remembered[T]{name, v})
	return v, nil
}

func (r *recent[T]) use(name string) (v T, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.list, func(m remembered[T]) bool { return m.name == name })
	if at < 0 {
		return v, false
	}
	m := r.list[at]
	r.list = append(slices.Delete(r.list, at, at+1), m)
	return m.value, true
}
