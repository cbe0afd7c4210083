package command

import (
	"context"
	"fmt"
	"time"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/exchange"
)

type batch = exchange.Batch[request]

// failure is why a process cannot be used any more.
type failure struct {
	class string
	text  string
	ended bool // by itself
	held  int  // answers that came once its input had ended
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

// send sends rows and settles those that are answered. After a failure, or if
// ctx ended, the process has to be killed.
func (p *worker) send(ctx context.Context, all batch, timeout time.Duration) *failure {
	p.sent += len(all)
	p.noise, p.noisy = nil, 0
	byID := all.ByID()
	written := make(chan struct{})
	go p.write(all, written)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for left := len(byID); left > 0 || written != nil; {
		replies := p.replies
		if left == 0 {
			replies = nil // later output belongs to the next batch
		}
		select {
		case <-ctx.Done():
			return &failure{class: outcomes.RewardError, text: ctx.Err().Error()}
		case <-timer.C:
			if p.noise != nil {
				return &failure{class: outcomes.RewardAnswer,
					text: score.Quote(p.noise) + " is not an answer, and none came within " + timeout.String()}
			}
			return &failure{class: outcomes.RewardTimeout, held: p.held(byID),
				text: "no answer within " + timeout.String() + "; does the program flush its output after every line?"}
		case <-written:
			written = nil
		case r, more := <-replies:
			if !more {
				return &failure{class: outcomes.RewardCrashed, text: "the program ended without an answer", ended: true}
			}
			fresh, f := p.answers(r, byID)
			if f != nil {
				return f
			}
			if left -= fresh; fresh > 0 {
				timer.Reset(timeout)
			}
		}
	}
	p.previous = make(map[string]bool, len(byID))
	for id := range byID {
		p.previous[id] = true
	}
	return nil
}

// held ends the input of a program that was silent, and returns how many answers come then: it
// does not flush its output. The last row of a slow program may be one.
func (p *worker) held(byID map[string]*exchange.Pending[request]) (n int) {
	if len(byID) == 1 {
		return 0
	}
	p.in.Close()
	for end := time.After(grace); ; {
		select {
		case r, more := <-p.replies:
			if !more {
				return n
			}
			for _, answer := range r.answers {
				if byID[answer.ID] != nil {
					n++
				}
			}
		case <-end:
			return n
		}
	}
}

func (p *worker) write(all batch, written chan<- struct{}) {
	defer close(written)
	_ = p.wire.write(p.in, all) // if it fails, the output ends too or is silent, which send notices
}

// answers handles a reply and counts the new answers in it. A second answer to the
// previous batch is ignored.
func (p *worker) answers(r reply, byID map[string]*exchange.Pending[request]) (fresh int, f *failure) {
	if r.noise != nil {
		return 0, p.ignore(r.noise)
	}
	if r.err != nil {
		return 0, &failure{class: outcomes.RewardAnswer, text: r.err.Error()}
	}
	p.noisy = 0
	for _, answer := range r.answers {
		if byID[answer.ID] == nil && p.previous[answer.ID] {
			p.again(answer.ID)
			continue
		}
		first, err := exchange.Answer(byID, answer)
		if err != nil {
			return fresh, &failure{class: outcomes.RewardAnswer, text: err.Error()}
		}
		if first {
			fresh++
		} else {
			p.again(answer.ID)
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
		return &failure{class: outcomes.RewardAnswer,
			text: fmt.Sprintf("%s is not an answer, and neither is one of %d lines after it", score.Quote(p.noise), maxNoise)}
	}
	return nil
}
