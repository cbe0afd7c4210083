// Package command rewards by a program in any language that is started once
// and asked many times: a line of JSON in, a line of JSON out; or, much faster
// for wide rows, a stream of Arrow record batches in and one out.
//
//	command:./bin/tictactoe reward
//	command:python3 reward.py --strict
//	arrow:python3 reward.py
//
// Words are split as a shell would; nothing is expanded and no shell runs.
// What a line holds stands at score.Request and score.Answer, what a batch
// holds at arrow.Asked and arrow.AnswerReader: answers are matched by id and
// may come in any order, in batches of any size. The program must flush each
// line or batch. testdata/rewards has an example of both in Python.
// It sees ROLLMILL_SEED and ROLLMILL_REWARD (the reward's name), and the same
// for every one of the processes run side by side.
//
// When the program ends, says nothing for the time limit, or answers nonsense
// that no row can be blamed for, it is killed with all it started, and rows
// without an answer are asked again one by one. A row only fails when
// it does so alone, as the first row of a fresh process: never for what a
// neighbour did.
package command

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/score"
)

// Kind is the reward's entry in the registry.
var Kind = score.Kind{
	Name:   "command",
	Usage:  "a program and its words; it reads a line of JSON for each trajectory and answers with one",
	Seeded: true,
	New:    newReward,
}

// Arrow is the entry of the same reward spoken to in Arrow record batches.
var Arrow = score.Kind{
	Name:   "arrow",
	Usage:  "a program and its words; it reads a stream of Arrow record batches of trajectories and answers with one",
	Seeded: true,
	New: func(s score.Setup) (score.Reward, error) {
		return newProgram(s, func() wire { return &batches{} })
	},
}

type reward struct {
	score.Setup
	words []string
	wire  func() wire // one for each process

	mu   sync.Mutex
	idle []*process
}

func newReward(s score.Setup) (score.Reward, error) {
	return newProgram(s, func() wire { return lines{} })
}

func newProgram(s score.Setup, w func() wire) (score.Reward, error) {
	words, err := shellquote.Split(s.Arguments)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", s.Arguments, err)
	}
	if len(words) == 0 {
		return nil, errors.New("no program is named")
	}
	if _, err := exec.LookPath(words[0]); err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, fmt.Errorf("program %q: %w", words[0], err)
	}
	return &reward{Setup: s, words: words, wire: w}, nil
}

func (r *reward) Needs() score.Needs { return score.Text }
func (r *reward) Words() []string    { return r.words }
func (r *reward) Reads() []string    { return r.Earlier }

// Score asks one process about all rows, and then, about those it left
// without an answer, one by one.
func (r *reward) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	asks := newAsks(r, rows, values)
	if len(asks) == 0 {
		return ctx.Err()
	}
	p, err := r.take()
	if err != nil {
		return err
	}
	defer func() { r.put(p) }()
	for batch := asks; ; {
		fresh := p.asked == 0
		failure := p.ask(ctx, batch, r.Timeout)
		if ctx.Err() != nil {
			p.kill(0)
			return ctx.Err()
		}
		if failure == nil {
			if asks = unanswered(asks); len(asks) == 0 {
				return nil
			}
			batch = asks[:1]
			continue
		}
		p.kill(failure.grace())
		if fresh && len(batch) == 1 {
			batch[0].settle(score.Failed(failure.class, "%v", p.explain(failure)))
		}
		if asks = unanswered(asks); len(asks) == 0 {
			return nil
		}
		batch = asks[:1]
		if p, err = r.start(); err != nil {
			return err
		}
	}
}

// take gives an idle process, or a new one; each caller has one to itself.
func (r *reward) take() (*process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.idle); n > 0 {
		p := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return p, nil
	}
	return r.start()
}

func (r *reward) put(p *process) {
	if p == nil || p.killed {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, p)
}

func (r *reward) start() (*process, error) {
	seed := formats.Seed(r.Seed, "reward", r.Name)
	p, err := start(r.wire(), r.words, r.PassEnv, fmt.Sprintf("ROLLMILL_SEED=%d", seed), "ROLLMILL_REWARD="+r.Name, "PYTHONUNBUFFERED=1")
	if err != nil {
		return nil, fmt.Errorf("starting %q: %w", r.words[0], err)
	}
	return p, nil
}

const grace = 2 * time.Second // for a program to end once its input has

// Close ends the processes: their input ends, and those that stay are killed.
func (r *reward) Close() error {
	r.mu.Lock()
	idle := r.idle
	r.idle = nil
	r.mu.Unlock()
	var wait sync.WaitGroup
	for _, p := range idle {
		wait.Go(func() { p.kill(grace) })
	}
	wait.Wait()
	return nil
}
