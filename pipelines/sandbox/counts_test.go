package sandbox

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestTornCountsAreReadAsFarAsTheyGo(t *testing.T) {
	dir := t.TempDir()
	h := start(t, Options{Dir: dir})
	h.chat(ask(DefaultBaseModel, "x", `"seed":1`))
	h.do("POST", "/v1/chat/completions", ask("nobody", "x", "")).want(t, 404, nil)
	h.stop()
	path := filepath.Join(dir, countsFile)
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(body, "2"...), 0o666); err != nil {
		t.Fatal(err)
	}
	h = start(t, Options{Dir: dir})
	h.chat(ask(DefaultBaseModel, "x", `"seed":3`))
	want := h.counts()
	h.stop()
	h = start(t, Options{Dir: dir})
	if c := h.counts(); c.Chat != 2 || c != want || c.SampledTokens < 6 {
		t.Errorf("%+v, want %+v", c, want)
	}
}

func TestSamplesAreWhatWasDrawn(t *testing.T) {
	var mu sync.Mutex
	var samples []Sample
	h := start(t, Options{Sampled: func(s Sample) {
		mu.Lock()
		defer mu.Unlock()
		samples = append(samples, s)
	}})
	c := h.chat(ask(DefaultBaseModel, emptyBoard, `"n":2`))
	mu.Lock()
	defer mu.Unlock()
	if len(samples) != 2 {
		t.Fatalf("%d samples, want 2", len(samples))
	}
	for i, s := range samples {
		if s.ID != c.ID || s.Choice != i || text(s.TokenIDs) != text(c.Choices[i].TokenIDs) || s.Logprobs[1] != c.Choices[i].Logprobs.Content[1].Logprob {
			t.Errorf("%+v", s)
		}
	}
}
