// Package exchange sends the requests of rows to a program or a service, in batches,
// and matches the answers by id. How a request is encoded and sent is the caller's:
// rewards http, command and arrow are three.
package exchange

import (
	"context"
	"errors"
	"slices"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
)

// Pending is the request for one row, until it is answered.
type Pending[T any] struct {
	Row     *score.Row
	Request T // encoded

	value    *score.Value
	answered bool
}

// Settle sets the row's value.
func (p *Pending[T]) Settle(v score.Value) {
	if v.Failure == "" && v.Shaped != nil {
		if n := len(p.Row.Steps()); len(v.Shaped) != n {
			v = score.Failed(outcomes.RewardAnswer, "%d shaped rewards for %d sampled messages", len(v.Shaped), n)
		}
	}
	if len(v.Signals) > 0 && v.Failure == "" {
		steps := p.Row.Steps()
		for i := range v.Signals {
			s := &v.Signals[i]
			if int(s.Message) >= len(steps) {
				v = score.Failed(outcomes.RewardAnswer, "%d signals or more for %d sampled messages", s.Message+1, len(steps))
				break
			}
			s.Message = int32(steps[s.Message])
		}
	}
	*p.value, p.answered = v, true
}

// Batch is the requests that are sent at once.
type Batch[T any] []*Pending[T]

// Unanswered returns those without an answer.
func (b Batch[T]) Unanswered() Batch[T] {
	return slices.DeleteFunc(slices.Clone(b), func(p *Pending[T]) bool { return p.answered })
}

// ByID returns the requests by the id that an answer repeats.
func (b Batch[T]) ByID() map[string]*Pending[T] {
	out := make(map[string]*Pending[T], len(b))
	for _, p := range b {
		out[p.Row.TrajectoryID] = p
	}
	return out
}

// Answer settles the request of that id with an answer, and reports whether it is the
// first. A row that was not asked about is an error.
func Answer[T any](byID map[string]*Pending[T], a score.Answer) (first bool, err error) {
	switch p := byID[a.ID]; {
	case p == nil:
		return false, errors.New(score.Quote([]byte(a.ID)) + " is answered, which was not asked about")
	case p.answered:
		return false, nil
	default:
		p.Settle(a.Value)
		return true, nil
	}
}

// Send sends a batch and settles the requests that are answered. The value is the
// failure of the others; the error ends the stage.
type Send[T any] func(ctx context.Context, batch Batch[T]) (unanswered score.Value, err error)

// Score is a reward's Score: it sends all rows at once, and then those without an answer one by
// one, so that a row only fails alone. A row that cannot be encoded fails and is not sent.
func Score[T any](ctx context.Context, rows []*score.Row, values []score.Value, encode func(*score.Row) (T, error),
	send Send[T]) error {
	var all Batch[T]
	for i, row := range rows {
		p := &Pending[T]{Row: row, value: &values[i]}
		var err error
		if p.Request, err = encode(row); err != nil {
			p.Settle(score.Failed(outcomes.RewardError, "%v", err))
			continue
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return ctx.Err()
	}
	failure, err := send(ctx, all)
	if err != nil {
		return err
	}
	for _, p := range all.Unanswered() {
		if len(all) > 1 {
			if failure, err = send(ctx, Batch[T]{p}); err != nil {
				return err
			}
		}
		if !p.answered {
			p.Settle(failure)
		}
	}
	return nil
}
