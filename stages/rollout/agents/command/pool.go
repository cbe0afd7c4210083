package command

import (
	"context"
	"io"
	"sync"

	"github.com/rollmill/rollmill/stages/internal/process"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// pool starts workers as they are needed, one for each attempt at once, and keeps them.
type pool struct {
	program process.Program

	mu   sync.Mutex
	idle []*agents.Worker
}

func newPool(p process.Program) *pool {
	// clients require one at start
	p.Env = append(p.Env, "OPENAI_API_KEY=rollmill", "ANTHROPIC_API_KEY=rollmill")
	return &pool{program: p}
}

func (p *pool) ask(ctx context.Context, at agents.Attempt, log io.Writer) ([]byte, error) {
	line, err := at.TaskLine()
	if err != nil {
		return nil, err
	}
	w, err := p.take()
	if err != nil {
		return nil, err
	}
	out, err := w.Ask(ctx, at.TrajectoryID, line, log)
	if err != nil {
		return nil, err // Ask ended the worker
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, w)
	return out, nil
}

// take returns an idle worker that is alive, or a new one.
func (p *pool) take() (*agents.Worker, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := len(p.idle); n > 0; n = len(p.idle) {
		w := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if !w.Ended() {
			return w, nil
		}
	}
	return agents.StartWorker(p.program)
}

func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	var wait sync.WaitGroup
	for _, w := range idle {
		wait.Go(w.Stop)
	}
	wait.Wait()
}
