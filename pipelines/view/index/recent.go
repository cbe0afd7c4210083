package index

import "slices"

// maxRecent is the number of orders, and of conditions, that an index remembers.
const maxRecent = 4

// recent holds what was used last, by name.
type recent[T any] struct {
	names  []string // the one used last at the end
	values []T
}

func (r *recent[T]) get(name string) (T, bool) {
	at := slices.Index(r.names, name)
	if at < 0 {
		var none T
		return none, false
	}
	v := r.values[at]
	r.names, r.values = slices.Delete(r.names, at, at+1), slices.Delete(r.values, at, at+1)
	r.put(name, v)
	return v, true
}

func (r *recent[T]) put(name string, v T) {
	if at := slices.Index(r.names, name); at >= 0 {
		r.values[at] = v
		return
	}
	if len(r.names) == maxRecent {
		r.names, r.values = slices.Delete(r.names, 0, 1), slices.Delete(r.values, 0, 1)
	}
	r.names, r.values = append(r.names, name), append(r.values, v)
}
