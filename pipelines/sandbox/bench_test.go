package sandbox

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkChat is a call in process, without a socket.
func BenchmarkChat(b *testing.B) {
	s, err := New(Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	body := ask(DefaultBaseModel, strings.Repeat("talk before ", 40)+emptyBoard, `"seed":1,"return_tokens_as_token_ids":true`)
	for b.Loop() {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body)))
		if w.Code != 200 {
			b.Fatal(w.Body)
		}
	}
}

// BenchmarkStep is one gradient step on 1,000 tokens.
func BenchmarkStep(b *testing.B) {
	p := newPolicy(64, 1)
	samples := make([]sample, 1000)
	for i := range samples {
		v := newView(board{own, other, square(i % 3), own}, false)
		samples[i] = sample{view: v, phase: phase(i % 4), word: i % words, old: -1, weight: 1, gain: 1}
	}
	l := newLearner(p, p, &optimiser{Mean: make([]float64, len(p.weights)), Square: make([]float64, len(p.weights))}, rules{rate: 0.01, low: 100, high: 100})
	for b.Loop() {
		l.step(samples)
	}
}
