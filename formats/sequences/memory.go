package sequences

// Memory makes sequences, in memory that it uses again after Reset. The zero value
// is ready. It is for one goroutine.
type Memory struct {
	ids      arena[int32]
	mask     arena[bool]
	logprobs arena[float32]
}

// Reset ends the use of all sequences that were made.
func (m *Memory) Reset() {
	m.ids.reset()
	m.mask.reset()
	m.logprobs.reset()
}

// arena hands out slices of one array.
type arena[T any] struct {
	free []T
	all  []T
}

// take returns n elements of any value.
func (a *arena[T]) take(n int) []T {
	if n > len(a.free) {
		a.all = make([]T, max(n, 2*len(a.all))) // slices of the array before stay valid
		a.free = a.all
	}
	out := a.free[:n:n]
	a.free = a.free[n:]
	return out
}

func (a *arena[T]) reset() { a.free = a.all }
