package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/storage/fault"
)

// Budget limits the cost of a shard. Tokens and money include what its journal
// holds from earlier runs of the same command; time is this run's alone. When
// the budget is spent no trajectory begins. Those under way finish, unless the
// time ran out. The zero value has no limits.
type Budget struct {
	Tokens          int64   // prompt and completion tokens of all calls
	Money           float64 // in whatever the prices are in
	PromptPrice     float64 // for a million tokens of all models, instead of Prices
	CompletionPrice float64
	Prices          prices.Table // by model
	model           string
	Time            time.Duration

	// SkipRest writes trajectories that were not begun as skipped rows, so that
	// the dataset is complete. Otherwise the dataset waits for the same command
	// with a larger budget.
	SkipRest bool
}

func (b *Budget) Declare(d *plugin.Declarer) {
	d.Int64(&b.Tokens, "budget-tokens", "start no trajectory after `N` prompt and completion tokens, per shard").Min(0).
		DefaultShown("no limit")
	d.Float(&b.Money, "budget-money", "start no trajectory after the calls have cost `AMOUNT`, per shard").Min(0).
		DefaultShown("no limit")
	d.Duration(&b.Time, "budget-time", "stop each shard after `TIME`").Min(0).DefaultShown("no limit")
	d.Float(&b.PromptPrice, "price-prompt", "charge this `PRICE` for a million prompt tokens").Min(0)
	d.Float(&b.CompletionPrice, "price-completion", "charge this `PRICE` for a million completion tokens").Min(0)
	plugin.Entries(d, &b.Prices, "prices", prices.Help, prices.Parse).DefaultShown("no prices").Entry = prices.Schema
	d.Bool(&b.SkipRest, "skip-rest",
		"write the remaining trajectories as skipped rows when a budget is spent, and exit with 0")
}

// Of returns the budget of a rollout that samples a model.
func (b Budget) Of(model string) Budget {
	if b.PromptPrice != 0 || b.CompletionPrice != 0 {
		b.Prices = prices.Table{"*": {Input: b.PromptPrice, Output: b.CompletionPrice, Cached: b.PromptPrice}}
	}
	b.model = model
	return b
}

var ErrTimeSpent = errors.New("the time budget is spent")

func (b Budget) Check() error {
	if _, priced := b.Prices.Of(b.model); b.Money > 0 && !priced {
		return agents.Usage("say what a million tokens cost: --price-prompt 0.5 --price-completion 1.5",
			"a budget of money without prices of %q", b.model)
	}
	return nil
}

// Left returns what is left of the budgets of all shards for attempts that extend their dataset, whose facts
// say what it cost; ok is false if nothing is. Attempts that it does not pay for are skipped. Time begins anew.
func (b Budget) Left(shards int, facts map[string]float64) (left Budget, ok bool) {
	prompt, completion := int64(facts["prompt_tokens"]), int64(facts["completion_tokens"])
	left, ok, left.SkipRest = b, true, true
	if b.Tokens > 0 {
		left.Tokens = int64(shards)*b.Tokens - prompt - completion
		ok = left.Tokens > 0
	}
	if b.Money > 0 {
		spent, _ := b.Prices.Sum(facts)
		in, _ := prices.Table{"*": {Input: 1e6, Cached: 1e6}}.Sum(facts) // those that are no estimates
		out, _ := prices.Table{"*": {Output: 1e6}}.Sum(facts)
		p, _ := b.Prices.Of(b.model)
		left.Money = float64(float64(shards)*b.Money) - spent - p.Of(prompt-int64(in), completion-int64(out), 0)
		ok = ok && left.Money > 0
	}
	return left, ok
}

// Spending counts what a shard has cost.
type Spending struct {
	Budget Budget

	mu                 sync.Mutex
	prompt, completion int64
	money              float64
	unpriced           string          // a model without a price in the table, quoted
	timed              context.Context // which the time budget ends; nil without one
	Left               int64           // trajectories that were not made
}

// Add adds calls with a sign of 1, and takes them back with -1.
func (s *Spending) Add(sign int64, calls ...formats.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range calls {
		prompt, completion := sign*int64(c.PromptTokens), sign*int64(c.CompletionTokens)
		s.prompt, s.completion = s.prompt+prompt, s.completion+completion
		if p, priced := s.Budget.Prices.Of(c.Model); priced {
			s.money += p.Of(prompt, completion, sign*int64(min(c.CachedTokens, c.PromptTokens)))
		} else if prompt+completion > 0 {
			s.unpriced = strconv.Quote(c.Model)
		}
	}
}

func (s *Spending) Call(c formats.Call) { s.Add(1, c) }

func (s *Spending) Spent() stages.Spend {
	s.mu.Lock()
	defer s.mu.Unlock()
	return stages.Spend{PromptTokens: s.prompt, CompletionTokens: s.completion, Cost: prices.Round(s.money)}
}

// Over returns which budget is spent, with its figures; "" for none.
func (s *Spending) Over() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch b := s.Budget; {
	case b.Tokens > 0 && s.prompt+s.completion >= b.Tokens:
		return fmt.Sprintf("%d of %d tokens", s.prompt+s.completion, b.Tokens)
	case b.Money > 0 && s.unpriced != "":
		return "no price of " + s.unpriced
	case b.Money > 0 && s.money >= b.Money:
		return fmt.Sprintf("%.4g of %.4g in money", s.money, b.Money)
	case s.timed != nil && context.Cause(s.timed) == ErrTimeSpent:
		return b.Time.String()
	}
	return ""
}

// Limit ends ctx when the time budget is spent.
func (s *Spending) Limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.Budget.Time == 0 {
		return context.WithCancel(ctx)
	}
	limited, cancel := context.WithTimeoutCause(ctx, s.Budget.Time, ErrTimeSpent)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timed = limited
	return limited, cancel
}

// Stopped returns an error that names the spent budget, or nil when none is
// spent or nothing is left to do. If the rest is to be skipped, it is no error.
func (s *Spending) Stopped(total int64, log *slog.Logger) (skip bool, err error) {
	over := s.Over()
	if over == "" || s.Left == 0 {
		return false, nil
	}
	if s.Budget.Money > 0 && s.unpriced != "" {
		return false, agents.Usage("add it to prices in the config file; the same command does the rest",
			"a budget of money, and no price of %s, which was called: %d of %d trajectories kept", s.unpriced,
			total-s.Left, total)
	}
	if s.Budget.SkipRest {
		log.Warn("the budget is spent; the other trajectories are written as skipped rows, which --retry-failed makes with "+
			"a larger budget", "spent", over, "kept", total-s.Left, "skipped", s.Left)
		return true, nil
	}
	return false, fault.Errorf(fault.Budget, "the same command with a larger budget does the rest",
		"rollout: the budget is spent (%s): %d of %d trajectories kept, %d not made", over, total-s.Left,
		total, s.Left)
}
