package arttest

import "encoding/json"

// Calls lists the requests, "METHOD /path", in order of arrival.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

// Bodies lists what was posted to a path.
func (s *Server) Bodies(path string) []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]json.RawMessage(nil), s.bodies[path]...)
}

// Batches lists the training requests that arrived whole.
func (s *Server) Batches() []Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Batch(nil), s.batches...)
}

// WaitBatches returns when n batches have been dealt with.
func (s *Server) WaitBatches(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.batches) < n {
		s.more.Wait()
	}
}

// Jobs counts the batches that were trained.
func (s *Server) Jobs() int {
	n := 0
	for _, b := range s.Batches() {
		if b.Trained {
			n++
		}
	}
	return n
}
