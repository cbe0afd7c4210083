package reader

// Follower is a Reader or a NamedReader, which may be read after another one.
type Follower interface {
	// PrefetchNext makes the reader fetch what another one needs first, as soon as it
	// has begun to fetch all of its own rows and there is room in its memory.
	// Read calls next for that reader, and again until it is not nil. It must be
	// read next, by the same goroutine, or closed.
	PrefetchNext(next func() Follower)

	embedded() *reader
}

// PrefetchNext implements Follower.
func (r *reader) PrefetchNext(next func() Follower) { r.then = next }

func (r *reader) embedded() *reader { return r }

// prefetchNext begins what the next reader needs first. An error is the next reader's.
func (s *stream) prefetchNext() {
	if s.follower == nil && s.r.then != nil {
		if f := s.r.then(); f != nil {
			s.follower = f.embedded()
		}
	}
	next := s.follower
	if next == nil || next.f.Ahead == 0 {
		return
	}
	if next.stream == nil {
		next.stream = newStream(next, s.requests)
	}
	if next.stream.err == nil {
		next.stream.err = next.stream.fill()
	}
}
