// Package command gets rewards from a program in any language that is started
// once and serves many rows: a line of JSON in, a line of JSON out; or, much
// faster for wide rows, a stream of Arrow record batches in and one out.
//
//	command:./bin/tictactoe reward
//	command:python3 reward.py --strict
//	arrow:python3 reward.py
//
// Words are split as a shell would; nothing is expanded and no shell runs. score.Request and
// score.Answer describe a line, arrow.Request and arrow.AnswerReader a batch. Answers are
// matched by id and may come in any order, in batches of any size. The program must flush each
// line or batch. testdata/rewards has an example of both in Python. The environment has
// ROLLMILL_SEED and ROLLMILL_REWARD (the reward's name), with the same values in every
// concurrent process.
//
// A line that does not begin with "{", such as a print while the program starts, is
// not an answer: it is ignored, and the first one is logged.
//
// If the program ends, writes nothing for the time limit, or answers nonsense
// that belongs to no row, it is killed with everything that it started, and
// rows without an answer are sent again one by one. A row only fails if it does
// so alone, as the first row of a fresh process: never because of another row.
package command

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/internal/process"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/exchange"
	"github.com/rollmill/rollmill/storage/fault"
)

var Kind = score.RewardKind{Seeded: true, Kind: plugin.Kind[score.RewardSettings]{
	Name: "command",
	Help: "run a program that reads a line of JSON for each trajectory and answers with one",
	New:  func() score.RewardSettings { return &Settings{} },
}}

// Arrow is the entry of the same reward with Arrow record batches as protocol.
var Arrow = score.RewardKind{Seeded: true, Kind: plugin.Kind[score.RewardSettings]{
	Name: "arrow",
	Help: "run a program that reads a stream of Arrow record batches of trajectories and answers with one",
	New:  func() score.RewardSettings { return &Settings{arrow: true} },
}}

// Verifiers is the entry of the reward that an environment of the Python package verifiers
// gives. For another Python than python3 write command:PYTHON -m rollmill.verifiers score NAME.
var Verifiers = score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{
	Name: "verifiers",
	Help: "score with the rewards of an environment of the Python package verifiers: verifiers:NAME",
	New: func() score.RewardSettings {
		return &Settings{before: []string{"python3", "-m", "rollmill.verifiers", "score"}}
	},
}}

// Settings are the settings of these kinds.
type Settings struct {
	Words []string // the program and its arguments

	before []string // words of the kind itself
	arrow  bool     // the protocol is Arrow record batches
}

func (s *Settings) Declare(d *plugin.Declarer) {
	d.Words(&s.Words, "program", "run this `PROGRAM` with the words that follow it, split as a shell would").WholeSpec()
}

// Reward makes the reward; the program starts with the first rows.
func (s *Settings) Reward(setup score.Setup) (score.Reward, error) {
	if len(s.Words) == 0 {
		return nil, errors.New("no program is named")
	}
	words := slices.Concat(s.before, s.Words)
	if _, err := exec.LookPath(words[0]); err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, fmt.Errorf("program %q: %w", words[0], err)
	}
	r := &reward{Setup: setup, words: words, wire: func() wire { return lines{} }}
	if s.arrow {
		r.wire = func() wire { return &batches{} }
	}
	return r, nil
}

type reward struct {
	score.Setup
	words []string
	wire  func() wire // one for each process

	mu    sync.Mutex
	idle  []*worker
	noise sync.Once // of all processes, as is
	twice sync.Once

	silent sync.Once
}

func (r *reward) Describe() score.Description {
	return score.Description{Detail: score.Text, Words: r.words, Reads: r.Known, Start: r.tryStart, Unmetered: true}
}

// Score sends all rows to one process, and then those without an answer one by one.
func (r *reward) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	var p *worker // nil: the next batch starts one
	start := r.take
	defer func() { r.put(p) }()
	w := r.wire()
	encode := func(row *score.Row) (request, error) { return w.encode(row, r.Setup) }
	return exchange.Score(ctx, rows, values, encode, func(ctx context.Context, all batch) (score.Value, error) {
		for {
			if p == nil {
				var err error
				if p, err = start(ctx); err != nil {
					return score.Value{}, err
				}
				start = r.start
			}
			fresh := p.sent == 0
			failure := p.send(ctx, all, r.Timeout)
			if ctx.Err() != nil {
				p.kill(0)
				return score.Value{}, ctx.Err()
			}
			if failure == nil {
				return score.Value{}, nil
			}
			p.kill(failure.grace())
			if failure.held > 1 {
				return score.Value{}, fault.Errorf(fault.Failed, "flush each answer: print(..., flush=True) in Python, fflush in C and awk, "+
					"or put stdbuf -oL before the program; one that is only slow needs a longer time limit",
					"its program was silent for %s, and gave %d answers once its input ended", r.Timeout, failure.held)
			}
			if failure.class == outcomes.RewardTimeout && len(all) > 1 {
				r.silent.Do(func() {
					r.Log.Warn("a reward's program does not answer in time; its rows are sent again one by one", "reward", r.Name,
						"rows", len(all.Unanswered()), "timeout", r.Timeout)
				})
			}
			why := score.Failed(failure.class, "%v", p.explain(failure))
			p = nil
			if fresh || len(all) > 1 || len(all.Unanswered()) == 0 {
				return why, nil
			}
		}
	})
}

// take returns an idle process, or a new one, for the caller alone.
func (r *reward) take(ctx context.Context) (*worker, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.idle); n > 0 {
		p := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return p, nil
	}
	return r.start(ctx)
}

func (r *reward) put(p *worker) {
	if p == nil || p.killed {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, p)
}

func (r *reward) start(ctx context.Context) (*worker, error) {
	seed := formats.Seed(r.Seed, "reward", r.Name)
	p, err := start(ctx, r.wire(), process.Program{Words: r.words, PassEnv: r.PassEnv, Grace: grace,
		Env: []string{fmt.Sprintf("ROLLMILL_SEED=%d", seed), "ROLLMILL_REWARD=" + r.Name, "PYTHONUNBUFFERED=1"}},
		r.Log.With("reward", r.Name))
	if err != nil {
		return nil, fmt.Errorf("starting %q: %w", r.words[0], err)
	}
	p.warn, p.again = r.warn, r.again
	return p, nil
}

// warn names the first line that is no answer.
func (r *reward) warn(line []byte) {
	r.noise.Do(func() {
		r.Log.Warn("a reward's program writes lines that are no answers to its standard output; they are ignored, and "+
			"belong on standard error", "reward", r.Name, "line", score.Quote(line))
	})
}

// again names the first row that is answered twice.
func (r *reward) again(id string) {
	r.twice.Do(func() {
		r.Log.Warn("a reward's program answers twice for one id; the first answer counts", "reward", r.Name, "id", id)
	})
}

const grace = 2 * time.Second // for a program to end once its input has

// Close ends the processes: their input ends, and those that continue are killed.
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
