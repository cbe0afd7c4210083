package view

import "sync"

// kept keeps values that cost something to make, by keys that change when the values do.
type kept[T any] struct {
	most int // values in memory; all are dropped before one more
	mu   sync.Mutex
	by   map[string]T
}

// of returns the value of a key, made if there is none. An error is not kept.
func (k *kept[T]) of(key string, make func() (T, error)) (T, error) {
	k.mu.Lock()
	v, has := k.by[key]
	k.mu.Unlock()
	if has {
		return v, nil
	}
	made, err := make()
	if err != nil {
		return v, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if v, has := k.by[key]; has { // another request was faster
		return v, nil
	}
	if k.by == nil || len(k.by) >= k.most {
		k.by = map[string]T{}
	}
	k.by[key] = made
	return made, nil
}
