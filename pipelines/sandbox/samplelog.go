package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/rollmill/rollmill/storage/regular"
)

// sampleLog records what was really drawn, so that a test can compare it with
// what a recorder recorded.
type sampleLog struct {
	mu   sync.Mutex
	file *os.File
}

// Sample is one line of the sample log: one choice of one answer.
type Sample struct {
	ID         string    `json:"id"` // of the response
	Choice     int       `json:"choice"`
	Model      string    `json:"model"`
	Step       int       `json:"step"`
	Seed       *int64    `json:"seed"`
	Trajectory string    `json:"trajectory,omitempty"`
	Stream     bool      `json:"stream"`
	PromptIDs  []int     `json:"prompt_token_ids"`
	TokenIDs   []int     `json:"token_ids"`
	Logprobs   []float64 `json:"logprobs"`
	Text       string    `json:"text"`
}

func openSampleLog(path string) (*sampleLog, error) {
	if path == "" {
		return nil, nil
	}
	f, err := regular.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, fmt.Errorf("opening the sample log: %w", err)
	}
	return &sampleLog{file: f}, nil
}

func (l *sampleLog) add(c *completion, trajectory string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := json.NewEncoder(l.file)
	for i, a := range c.answers {
		lines.Encode(Sample{
			ID: c.id, Choice: i, Model: c.served.name, Step: c.served.step, Seed: c.request.Seed, Trajectory: trajectory,
			Stream:    c.request.Stream,
			PromptIDs: c.prompt, TokenIDs: a.ids, Logprobs: a.logprobs, Text: a.text,
		})
	}
}

func (l *sampleLog) close() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}
