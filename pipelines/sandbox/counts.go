package sandbox

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/rollmill/rollmill/storage/regular"
)

// trajectoryHeader names the trajectory that a chat call belongs to.
const trajectoryHeader = "X-Rollmill-Trajectory"

// counts are the requests that the server got, across restarts: each request is
// a line of a file before it is answered, so that no paid call is uncounted
// when the process is killed. Only a crash of the machine may lose the last
// lines. Training results are in the checkpoints, not here.
type counts struct {
	mu           sync.Mutex
	file         *os.File // nil: in memory only
	routes       map[string]int64
	seeds        map[string]int64 // chat calls answered, by their seed
	trajectories map[string]int64
	submissions  map[string]int64 // training requests, carried out or not
	answered     int64
	tokens       int64
}

const countsFile = "counts.log"

func openCounts(dir string) (*counts, error) {
	c := &counts{routes: map[string]int64{}, seeds: map[string]int64{}, trajectories: map[string]int64{},
		submissions: map[string]int64{}}
	if dir == "" {
		return c, nil
	}
	path := filepath.Join(dir, countsFile)
	body, err := regular.ReadFile(path, maxState)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("reading the counts: %w", err)
	}
	for line := range bytes.Lines(body) {
		if text, whole := strings.CutSuffix(string(line), "\n"); whole {
			c.note(strings.Split(text, "\t"))
		}
	}
	c.file, err = regular.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, fmt.Errorf("opening the counts: %w", err)
	}
	if len(body) > 0 && body[len(body)-1] != '\n' { // torn by a crash
		if _, err := c.file.WriteString("\n"); err != nil {
			return nil, fmt.Errorf("opening the counts: %w", err)
		}
	}
	return c, nil
}

// note counts one line: "route", its name; "chat", seed, trajectory, sampled
// tokens; "submission", its key.
func (c *counts) note(line []string) {
	switch {
	case len(line) == 2 && line[0] == "route":
		c.routes[line[1]]++
	case len(line) == 2 && line[0] == "submission":
		c.submissions[line[1]]++
	case len(line) == 4 && line[0] == "chat":
		n, _ := strconv.ParseInt(line[3], 10, 64)
		c.answered++
		c.tokens += n
		if line[1] != "" {
			c.seeds[line[1]]++
		}
		if line[2] != "" {
			c.trajectories[line[2]]++
		}
	}
}

var unbroken = strings.NewReplacer("\t", " ", "\n", " ")

func (c *counts) add(line ...string) {
	for i := range line {
		line[i] = unbroken.Replace(line[i])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(line)
	if c.file != nil {
		c.file.WriteString(strings.Join(line, "\t") + "\n")
	}
}

func (c *counts) chat(call *completion, trajectory string) {
	seed := ""
	if call.request.Seed != nil {
		seed = strconv.FormatInt(*call.request.Seed, 10)
	}
	c.add("chat", seed, trajectory, strconv.Itoa(count(0, call.answers).CompletionTokens))
}

func (c *counts) close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// Counts is the answer of GET /_rollmill/counts. Seeds and Trajectories are
// included with ?seeds=1 and ?trajectories=1.
type Counts struct {
	Chat          int64                  `json:"chat"`           // calls for which an answer was drawn
	SampledTokens int64                  `json:"sampled_tokens"` // in them
	Repeated      int64                  `json:"repeated"`       // calls with the seed of an earlier one
	Trained       int64                  `json:"trained"`        // training calls carried out, over all models
	Routes        map[string]int64       `json:"routes"`         // requests, whatever their answer
	Submissions   map[string]int64       `json:"submissions"`    // training requests by key, including repeats
	Models        map[string]ModelCounts `json:"models"`         // by project/name
	Seeds         map[string]int64       `json:"seeds,omitempty"`
	Trajectories  map[string]int64       `json:"trajectories,omitempty"`
}

// ModelCounts counts what was trained, as committed with the weights.
type ModelCounts struct {
	Step          int            `json:"step"`
	Trainings     int            `json:"trainings"`
	TrainedTokens int64          `json:"trained_tokens"`
	Submissions   map[string]int `json:"submissions"` // the step that each key led to
}

func (s *Server) showCounts(w http.ResponseWriter, r *http.Request) {
	var out Counts
	s.counts.fill(&out, r.URL.Query().Get("seeds") == "1", r.URL.Query().Get("trajectories") == "1")
	out.Models = map[string]ModelCounts{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, m := range s.models {
		now := m.newest()
		one := ModelCounts{now.Step, now.Trainings, now.TrainedTokens, map[string]int{}}
		for name, done := range now.Submissions {
			one.Submissions[name] = done.Step
		}
		out.Models[key.String()] = one
		out.Trained += int64(now.Trainings)
	}
	writeJSON(w, http.StatusOK, out)
}

func (c *counts) fill(out *Counts, seeds, trajectories bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out.Routes, out.Submissions = maps.Clone(c.routes), maps.Clone(c.submissions)
	out.Chat, out.SampledTokens = c.answered, c.tokens
	for _, n := range c.seeds {
		out.Repeated += n - 1
	}
	if seeds {
		out.Seeds = maps.Clone(c.seeds)
	}
	if trajectories {
		out.Trajectories = maps.Clone(c.trajectories)
	}
}
