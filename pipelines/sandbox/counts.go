package sandbox

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/rollmill/rollmill/storage/regular"
)

// counts are the chat calls that the server answered, across restarts: each call is
// a line of a file, its sampled tokens, before it is answered, so that no paid call is
// uncounted when the process is killed. Only a crash of the machine may lose the last
// lines. Training results are in the checkpoints, not here.
type counts struct {
	mu   sync.Mutex
	file *os.File // nil: in memory only
	now  Counts
}

const countsFile = "counts.log"

func openCounts(dir string) (*counts, error) {
	c := &counts{}
	if dir == "" {
		return c, nil
	}
	path := filepath.Join(dir, countsFile)
	body, err := regular.ReadFile(path, maxState)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("reading the counts: %w", err)
	}
	for line := range bytes.Lines(body) {
		text, whole := strings.CutSuffix(string(line), "\n")
		if n, err := strconv.Atoi(text); whole && err == nil {
			c.add(n)
		}
	}
	c.file, err = regular.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, fmt.Errorf("opening the counts: %w", err)
	}
	if len(body) > 0 && body[len(body)-1] != '\n' { // torn by a crash
		if _, err := c.file.WriteString("?\n"); err != nil {
			return nil, fmt.Errorf("opening the counts: %w", err)
		}
	}
	return c, nil
}

func (c *counts) add(tokens int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Chat++
	c.now.SampledTokens += int64(tokens)
	if c.file != nil {
		c.file.WriteString(strconv.Itoa(tokens) + "\n")
	}
}

func (c *counts) close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// Counts is the answer of GET /_rollmill/counts.
type Counts struct {
	Chat          int64 `json:"chat"`           // calls for which an answer was drawn
	SampledTokens int64 `json:"sampled_tokens"` // in them
	Trained       int64 `json:"trained"`        // training calls carried out, over all models
}

func (s *Server) showCounts(w http.ResponseWriter, _ *http.Request) {
	s.counts.mu.Lock()
	out := s.counts.now
	s.counts.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.models {
		out.Trained += int64(m.newest().Trainings)
	}
	writeJSON(w, http.StatusOK, out)
}
