package dataset

// IsOpen reports whether a part is open before its turn.
func (r *Reader[T]) IsOpen(part int) bool { return r.ahead.ready(part) != nil }

// Begun returns how many parts are read before their turn.
func (r *Reader[T]) Begun() int { return len(r.begun) }

// HasBegun reports whether a part is read before its turn.
func (r *Reader[T]) HasBegun(part int) bool {
	_, begun := r.begun[part]
	return begun
}

// Ahead returns how many parts are opened before their turn.
func (r *Reader[T]) Ahead() int { return len(r.ahead) }
