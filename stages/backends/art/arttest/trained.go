package arttest

import (
	"net/http"

	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

// admit takes each submission once.
func (s *Server) admit(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, seen := s.trained[token]; seen {
		return false
	}
	s.trained[token] = -1
	return true
}

// save keeps a batch that is trained, now or after its answer has ended.
func (s *Server) save(b *Batch, advance int64, f Faults) {
	if f.TrainsOn == 0 {
		s.keep(b, true, advance)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.later, s.looks = b, f.TrainsOn
}

// looked counts a look at the step.
func (s *Server) looked() {
	s.mu.Lock()
	b := s.later
	if b != nil {
		if s.looks--; s.looks > 0 {
			b = nil
		} else {
			s.later = nil
		}
	}
	s.mu.Unlock()
	if b != nil {
		s.keep(b, true, 1)
	}
}

func (s *Server) keep(b *Batch, trained bool, advance int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.Trained = trained
	s.step += advance
	s.batches = append(s.batches, *b)
	s.more.Broadcast()
	if trained {
		s.trained[b.Token] = s.step
	} else {
		delete(s.trained, b.Token)
	}
}

// training reports the outcome of a submission.
func (s *Server) training(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := art.TrainingState{Atomic: true, Step: s.step, Busy: s.busy > 0}
	if step, ok := s.trained[r.URL.Query().Get("submission")]; ok && step >= 0 {
		state.TrainedAtStep = &step
	}
	backendtest.JSON(w, 200, state)
}
