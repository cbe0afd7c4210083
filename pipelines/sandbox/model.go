package sandbox

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

type modelKey struct{ project, name string }

func (k modelKey) String() string { return k.project + "/" + k.name }

// model is a policy that can be trained. Its checkpoints are immutable; busy is
// held while one replaces another.
type model struct {
	busy sync.Mutex

	mu      sync.Mutex // guards the rest
	steps   []*checkpoint
	history []measures
}

// newest returns the checkpoint that serves and is trained on.
func (m *model) newest() *checkpoint {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.steps[len(m.steps)-1]
}

// at returns the checkpoint of a step; -1 is the newest.
func (m *model) at(step int) *checkpoint {
	if step < 0 {
		return m.newest()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.steps {
		if c.Step == step {
			return c
		}
	}
	return nil
}

func (m *model) list() []*checkpoint {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.steps)
}

func (m *model) advance(c *checkpoint) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps = append(m.steps, c)
}

// keepOnly removes the checkpoints of other steps, never the newest.
func (m *model) keepOnly(dir string, steps ...int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.steps[len(m.steps)-1]
	var kept []*checkpoint
	for _, c := range m.steps {
		if c == last || slices.Contains(steps, c.Step) {
			kept = append(kept, c)
			continue
		}
		if dir == "" {
			continue
		}
		path := filepath.Join(modelDir(dir, c.Project, c.Name), checkpointFile(c.Step))
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("deleting step %d: %w", c.Step, err)
		}
	}
	m.steps = kept
	return nil
}

// restore creates the models that a directory holds.
func (s *Server) restore() error {
	if s.opts.Dir != "" {
		saved, err := loadAll(s.opts.Dir)
		if err != nil {
			return err
		}
		for key, steps := range saved {
			s.models[key] = &model{steps: steps, history: loadHistory(s.opts.Dir, key)}
		}
	}
	for _, id := range s.opts.Models {
		project, name, ok := strings.Cut(id, "/")
		if !ok || project == "" || name == "" {
			return fmt.Errorf("model %q: must be project/name", id)
		}
		if _, err := s.ensure(modelKey{project, name}, s.opts.BaseModel); err != nil {
			return err
		}
	}
	return nil
}

// ensure returns a model; a new one is untrained.
func (s *Server) ensure(key modelKey, base string) (*model, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.models[key]; m != nil {
		return m, nil
	}
	n := len(s.base.weights)
	c := &checkpoint{
		Project: key.project, Name: key.name, BaseModel: base,
		Hidden: s.base.hidden, Weights: slices.Clone(s.base.weights),
		Optimiser:   optimiser{Mean: make([]float64, n), Square: make([]float64, n)},
		Submissions: map[string]submission{},
	}
	if err := c.save(s.opts.Dir); err != nil {
		return nil, err
	}
	m := &model{steps: []*checkpoint{c}}
	s.models[key] = m
	return m, nil
}

func (s *Server) find(key modelKey) *model {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.models[key]
}

// served is the policy behind a name.
type served struct {
	policy *policy
	step   int
	name   string // "project/name", or the base model's
}

// serving finds the policy of "name", "name@step", or either after "project/",
// which is required where two projects use one name.
func (s *Server) serving(id string) (served, *apiError) {
	if id == s.opts.BaseModel {
		return served{s.base, 0, id}, nil
	}
	name, step := splitStep(id)
	key, m, ambiguous := s.lookup(name)
	switch {
	case ambiguous:
		return served{}, badRequest("model", "several projects have a model %q: say project/name", name)
	case m == nil && s.isBase(id):
		return served{s.base, 0, id}, nil
	case m == nil:
		return served{}, noModel(id)
	}
	c := m.at(step)
	if c == nil {
		return served{}, noModel(id)
	}
	return served{c.policy(), c.Step, key.String()}, nil
}

func (s *Server) lookup(name string) (key modelKey, found *model, ambiguous bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, m := range s.models {
		if k.String() == name {
			return k, m, false
		}
	}
	for k, m := range s.models {
		if k.name == name {
			if found != nil {
				return k, nil, true
			}
			key, found = k, m
		}
	}
	return key, found, false
}

// isBase reports whether a registered model was made from this one.
func (s *Server) isBase(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.models {
		if m.newest().BaseModel == id {
			return true
		}
	}
	return false
}

// servedNames lists the names that serving accepts, without the longer forms.
func (s *Server) servedNames() []string {
	s.mu.Lock()
	models := maps.Clone(s.models)
	s.mu.Unlock()
	names := map[string]bool{s.opts.BaseModel: true}
	for key, m := range models {
		for _, c := range m.list() {
			names[c.BaseModel] = true
			names[fmt.Sprintf("%s@%d", key.name, c.Step)] = true
		}
		names[key.name] = true
	}
	return slices.Sorted(maps.Keys(names))
}
