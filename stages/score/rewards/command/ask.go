package command

import (
	"context"
	"fmt"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/arrow"
	"github.com/rollmill/rollmill/stages/score"
)

// ask is the request for one row, with the place of its answer.
type ask struct {
	id      string
	row     *score.Row
	path    []int         // of messages: the main one
	reward  string        // its name
	base    int64         // the stage's seed
	line    []byte        // of the JSON protocol
	request arrow.Request // of the Arrow protocol
	value   *score.Value
	done    bool
}

func (a *ask) settle(v score.Value) {
	if v.Failure == "" && v.Shaped != nil {
		if n := len(a.row.Steps()); len(v.Shaped) != n {
			v = score.Failed(formats.RewardAnswer, "%d shaped rewards for %d sampled messages", len(v.Shaped), n)
		}
	}
	*a.value, a.done = v, true
}

// newAsks encodes the requests; a row that cannot be encoded gets its failure
// and is not among them.
func newAsks(r *reward, rows []*score.Row, values []score.Value) []*ask {
	var asks []*ask
	w := r.wire()
	for i, row := range rows {
		a := &ask{id: row.TrajectoryID, row: row, path: row.Main(), reward: r.Name, base: r.Seed, value: &values[i]}
		if err := w.prepare(a); err != nil {
			a.settle(score.Failed(formats.RewardError, "%v", err))
			continue
		}
		asks = append(asks, a)
	}
	return asks
}

func unanswered(asks []*ask) []*ask {
	var out []*ask
	for _, a := range asks {
		if !a.done {
			out = append(out, a)
		}
	}
	return out
}

// failure is why a process cannot be used any more.
type failure struct {
	class string
	text  string
	ended bool // by itself
}

func (f *failure) Error() string { return f.text }

// grace is how long a program may still take to end: one that ended by itself
// gets time to report why.
func (f *failure) grace() time.Duration {
	if f.ended {
		return grace
	}
	return 0
}

// ask sends rows and settles those that are answered. After a failure, or if
// ctx ended, the process has to be killed.
func (p *worker) ask(ctx context.Context, batch []*ask, timeout time.Duration) *failure {
	p.asked += len(batch)
	p.noise, p.noisy = nil, 0
	open := make(map[string]*ask, len(batch))
	for _, a := range batch {
		open[a.id] = a
	}
	written := make(chan struct{})
	go p.write(batch, written)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for left := len(open); left > 0 || written != nil; {
		replies := p.replies
		if left == 0 {
			replies = nil // later output belongs to the next batch
		}
		select {
		case <-ctx.Done():
			return &failure{class: formats.RewardError, text: ctx.Err().Error()}
		case <-timer.C:
			if p.noise != nil {
				return &failure{class: formats.RewardAnswer, text: score.Quote(p.noise) + " is not an answer, and none came within " + timeout.String()}
			}
			return &failure{class: formats.RewardTimeout, text: "no answer within " + timeout.String() + "; does the program flush its output after every line?"}
		case <-written:
			written = nil
		case r, more := <-replies:
			if !more {
				return &failure{class: formats.RewardCrashed, text: "the program ended without an answer", ended: true}
			}
			fresh, f := p.answers(r, open)
			if f != nil {
				return f
			}
			if left -= fresh; fresh > 0 {
				timer.Reset(timeout)
			}
		}
	}
	p.remember(batch)
	return nil
}

func (p *worker) write(batch []*ask, written chan<- struct{}) {
	defer close(written)
	_ = p.wire.write(p.in, batch) // if it fails, the output ends too or is silent, which ask notices
}

// answers handles a reply and counts the new answers in it.
func (p *worker) answers(r reply, open map[string]*ask) (fresh int, f *failure) {
	if r.noise != nil {
		return 0, p.ignore(r.noise)
	}
	if r.err != nil {
		return 0, &failure{class: formats.RewardAnswer, text: r.err.Error()}
	}
	p.noisy = 0
	for _, answer := range r.answers {
		news, f := p.answer(answer, open)
		if f != nil {
			return fresh, f
		}
		if news {
			fresh++
		}
	}
	return fresh, nil
}

// ignore passes over a line that is no answer, such as a print of a library, and
// logs the first of the reward. A program that writes too many is stuck.
func (p *worker) ignore(line []byte) *failure {
	p.warn(line)
	if p.noise == nil {
		p.noise = line
	}
	if p.noisy++; p.noisy > maxNoise {
		return &failure{class: formats.RewardAnswer, text: fmt.Sprintf("%s is not an answer, and neither is one of %d lines after it", score.Quote(p.noise), maxNoise)}
	}
	return nil
}

// answer stores one answer and reports whether it is the first for its row.
func (p *worker) answer(answer score.Answer, open map[string]*ask) (bool, *failure) {
	a := open[answer.ID]
	switch {
	case a == nil && p.seen[answer.ID]:
		return false, nil
	case a == nil:
		return false, &failure{class: formats.RewardAnswer, text: score.Quote([]byte(answer.ID)) + " is answered, which was not asked about"}
	case a.done:
		return false, nil
	}
	a.settle(answer.Value)
	return true, nil
}

func (p *worker) remember(batch []*ask) {
	clear(p.seen)
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	for _, a := range batch {
		p.seen[a.id] = true
	}
}
