package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/harbor"
	"github.com/rollmill/rollmill/stages/score/rewards/teacher"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// judgeFolder is the folder of cached judges' answers, next to the scores.
const judgeFolder = "judge-cache"

// Judge configure the server that rewards of kind judge and ruler ask, and the
// cache, requests and budget of these and of teachers.
type Judge struct {
	URL, Key, Cache              string
	Concurrency                  int
	BudgetTokens                 int64
	BudgetMoney                  float64
	PromptPrice, CompletionPrice float64      // of all judges, instead of Prices
	Prices                       prices.Table // by model
}

func (j *Judge) Declare(d *plugin.Declarer) {
	d.Heading("Judges")
	d.String(&j.URL, "judge-url", "ask the OpenAI-compatible server at this `URL`, which ends in /v1").Common()
	d.Key(&j.Key, "judge-key-file", "read the server's key from this `FILE`", "ROLLMILL_JUDGE_API_KEY", "OPENAI_API_KEY").
		DefaultShown("ROLLMILL_JUDGE_API_KEY, else OPENAI_API_KEY")
	d.String(&j.Cache, "judge-cache", "cache the answers at this `URI`").DefaultShown("the sibling judge-cache of the output")
	d.Int(&j.Concurrency, "judge-concurrency", "send each judge at most `N` requests at once").Min(0).
		DefaultShown(strconv.Itoa(score.DefaultJudgeConcurrency))
	d.Int64(&j.BudgetTokens, "judge-budget-tokens", "stop before more than `N` tokens are spent; finished work is kept").Min(0).
		DefaultShown("no limit")
	d.Float(&j.BudgetMoney, "judge-budget-money",
		"stop before more than `MONEY` is spent, in the currency of the prices; finished work is kept").Min(0).DefaultShown("no limit")
	DeclarePrices(d, &j.Prices)
	d.Float(&j.PromptPrice, "judge-prompt-price", "charge `MONEY` for a million prompt tokens").Min(0)
	d.Float(&j.CompletionPrice, "judge-completion-price", "charge `MONEY` for a million completion tokens").Min(0)
}

func DeclarePrices(d *plugin.Declarer, t *prices.Table) {
	plugin.Entries(d, t, "prices", prices.Help, prices.Parse).DefaultShown("no prices").Entry = prices.Schema
}

// Open returns the client of the judges, and the cache of judges, teachers and verifiers; out is
// the URI of the scores.
func (j *Judge) Open(ctx context.Context, out string, rewards []score.Spec) (score.Judging, error) {
	if j.PromptPrice != 0 || j.CompletionPrice != 0 {
		j.Prices = prices.Table{"*": {Input: j.PromptPrice, Output: j.CompletionPrice, Cached: j.PromptPrice}}
	}
	switch {
	case j.URL == "" && !slices.ContainsFunc(rewards, func(s score.Spec) bool { return s.Kind == teacher.Kind.Name || s.Kind == harbor.Kind.Name }):
		return score.Judging{}, nil
	case j.BudgetMoney > 0 && len(j.Prices) == 0:
		return score.Judging{}, cli.Usagef("give --judge-prompt-price and --judge-completion-price",
			"--judge-budget-money without prices")
	}
	dir, _ := storage.Split(out)
	b, err := storage.Open(ctx, cmp.Or(j.Cache, storage.Join(dir, judgeFolder)))
	if err != nil {
		return score.Judging{}, err
	}
	judging := score.Judging{Store: judgeStore{b}, Concurrency: j.Concurrency,
		Ledger: &score.Ledger{Prices: j.Prices, BudgetTokens: j.BudgetTokens, BudgetMoney: j.BudgetMoney}}
	if j.URL != "" {
		judging.Asker = asker{openai.Judge{URL: j.URL, Key: j.Key}}
	}
	return judging, nil
}

// asker is the client of the judges' server, with the errors of package score.
type asker struct{ openai.Judge }

func (a asker) Ask(ctx context.Context, q score.Question) (score.Reply, error) {
	answer, err := a.Judge.Ask(ctx, q.Model, q.Messages, q.Fields)
	var refused *openai.Error
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.As(err, &refused) && refused.Mend() != "":
		err = openai.Refuses(err, "that of --judge-key-file, ROLLMILL_JUDGE_API_KEY or OPENAI_API_KEY, in this order",
			"the judge at %q, model %q: %w", storage.Redact(a.URL), q.Model, err)
	case !errors.As(err, &refused) || refused.Temporary():
		err = fault.Errorf(fault.Temporary, "run the same command again; answers that were paid for are kept",
			"asking the judge at %q: %w", storage.Redact(a.URL), err)
	case refused.TooLong():
		err = fmt.Errorf("%w: %w", score.ErrTooLong, err)
	case refused.OfRequest():
		err = fmt.Errorf("%w: %w", score.ErrRefused, err)
	default:
		err = fault.Errorf(fault.Failed, "check --judge-url, the model's name and the key",
			"asking the judge at %q: %w", storage.Redact(a.URL), err)
	}
	return score.Reply(answer), err
}

// judgeStore stores each answer as a small object, in a folder named after the
// first two digits of its key.
type judgeStore struct{ *storage.Bucket }

func (s judgeStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	data, err := s.Read(ctx, key[:2]+"/"+key)
	if errors.Is(err, storage.ErrNotExist) {
		return nil, false, nil
	}
	return data, err == nil, err
}

func (s judgeStore) Put(ctx context.Context, key string, value []byte) error {
	return s.Write(ctx, key[:2]+"/"+key, secret.From(ctx).JSON(value))
}
