package score

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
)

// Judging is what rewards that ask a model need. Its zero value has no model.
type Judging struct {
	Asker       Asker
	Store       Store   // nil: answers are not stored, and are paid for again
	Ledger      *Ledger // nil: nothing is counted or stopped
	Concurrency int     // questions under way; 0: DefaultJudgeConcurrency
}

// DefaultJudgeConcurrency is the default of Judging.Concurrency.
const DefaultJudgeConcurrency = 16

// Asker asks a model. An error about the question alone is ErrTooLong or
// ErrRefused; any other ends the stage. It retries temporary errors.
type Asker interface {
	Ask(ctx context.Context, q Question) (Reply, error)
}

// Question is a request for a chat completion.
type Question struct {
	Model    string
	Messages []formats.Message
	Fields   map[string]any // further ones: temperature, seed, max_tokens, response_format
}

// Reply is the model's answer.
type Reply struct {
	Text             string
	PromptTokens     int64
	CompletionTokens int64
	CachedTokens     int64 // of the prompt's
}

var (
	ErrTooLong = errors.New("the context is too long for the model")
	ErrRefused = errors.New("the model's server refused the question")
)

// Store stores answers by key. It is safe for concurrent use.
type Store interface {
	Get(ctx context.Context, key string) (value []byte, known bool, err error)
	Put(ctx context.Context, key string, value []byte) error
}

// Ledger counts the cost of judges and stops them at a budget. It is safe for concurrent use.
type Ledger struct {
	Prices       prices.Table
	BudgetTokens int64   // 0: no limit
	BudgetMoney  float64 // 0: no limit

	mu       sync.Mutex
	used     map[string]float64 // facts by model
	spent    Spent
	reserved Spent
}

// Spent is what judges have cost.
type Spent struct {
	Calls, Known int64 // questions asked, and those with a stored answer
	stages.Spend
}

// Spent returns the sum so far.
func (l *Ledger) Spent() Spent {
	if l == nil {
		return Spent{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent
}

func (l *Ledger) priced(model string, prompt, completion, cached int64) Spent {
	p, _ := l.Prices.Of(model)
	return Spent{Calls: 1, Spend: stages.Spend{PromptTokens: prompt, CompletionTokens: completion,
		Cost: p.Of(prompt, completion, min(cached, prompt))}}
}

func (s *Spent) add(o Spent, sign int64) {
	s.Calls += sign * o.Calls
	s.Known += sign * o.Known
	s.PromptTokens += sign * o.PromptTokens
	s.CompletionTokens += sign * o.CompletionTokens
	s.Cost += float64(float64(sign) * o.Cost)
}

// Reserve sets tokens aside for a question that may cost so many, or returns an error of kind
// budget: earlier answers are in the store. Settle must be called with the actual cost.
func (l *Ledger) Reserve(model string, prompt, completion int64) (settle func(prompt, completion, cached int64),
	err error) {
	if l == nil {
		return func(int64, int64, int64) {}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	guess := l.priced(model, prompt, completion, 0)
	if _, priced := l.Prices.Of(model); l.BudgetMoney > 0 && !priced {
		return nil, usage("add it to prices in the config file", "a budget of money, and no price for the judge %q", model)
	}
	sum := l.spent
	sum.add(l.reserved, 1)
	sum.add(guess, 1)
	const hint = "the answers are kept: raise the budget and run the same command again"
	if tokens := sum.Tokens(); l.BudgetTokens > 0 && tokens > l.BudgetTokens {
		return nil, fault.Errorf(fault.Budget, hint,
			"the judges' budget of %d tokens is spent: %d are used and the next question may need %d",
			l.BudgetTokens, l.spent.Tokens(), prompt+completion)
	}
	if l.BudgetMoney > 0 && sum.Cost > l.BudgetMoney {
		return nil, fault.Errorf(fault.Budget, hint,
			"the judges' budget of %g is spent: %.4g is used and the next question may need %.4g", l.BudgetMoney,
			l.spent.Cost, guess.Cost)
	}
	l.reserved.add(guess, 1)
	return func(prompt, completion, cached int64) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.reserved.add(guess, -1)
		l.spent.add(l.priced(model, prompt, completion, cached), 1)
		l.used = prices.Call(l.used, model, prompt, completion, cached)
	}, nil
}

// Hit counts a question whose answer was stored.
func (l *Ledger) Hit(model string) {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.spent.Known++
		l.used = prices.Call(l.used, model, 0, 0, 0)
	}
}

func (s Spent) since(before Spent) Spent {
	s.add(before, -1)
	s.Cost = prices.Round(s.Cost)
	return s
}

// facts returns what a shard spent, for its record, and forgets what was used of each model.
func (l *Ledger) facts(before Spent) map[string]float64 {
	s := l.Spent().since(before)
	if s == (Spent{}) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	facts := map[string]float64{
		"judge.calls": float64(s.Calls), "judge.known": float64(s.Known), "judge.cost": s.Cost,
		"judge.prompt_tokens": float64(s.PromptTokens), "judge.completion_tokens": float64(s.CompletionTokens),
	}
	maps.Copy(facts, l.used)
	l.used = nil
	return facts
}
