package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage"
)

// judgeFlags say whom rewards of kind judge and ruler ask.
func judgeFlags() []cli.Flag {
	return inCategory("Judges",
		&cli.StringFlag{Name: "judge-url", Usage: "ask the OpenAI-compatible server at this `URL`, with /v1"},
		&cli.StringFlag{Name: "judge-key-file", Usage: "read its key from this `FILE`; default: ROLLMILL_JUDGE_API_KEY, else OPENAI_API_KEY"},
		&cli.StringFlag{Name: "judge-cache", Usage: "keep its answers at this `URI`; default: the sibling \"judge-cache\" of the output"},
		&cli.IntFlag{Name: "judge-at-once", Value: 16, Usage: "ask each judge `N` things at once"},
		&cli.Int64Flag{Name: "judge-max-tokens", Usage: "stop before more than `N` tokens are spent, the work kept", DefaultText: "no limit"},
		&cli.Float64Flag{Name: "judge-max-cost", Usage: "stop before more than `MONEY` is spent, in the currency of the prices", DefaultText: "no limit"},
		&cli.Float64Flag{Name: "judge-prompt-price", Usage: "`MONEY` for a million tokens of questions"},
		&cli.Float64Flag{Name: "judge-completion-price", Usage: "`MONEY` for a million tokens of answers"},
	)
}

// judging reads them; out is where the scores go.
func judging(ctx context.Context, s *session, c *cli.Context, out string) (score.Judging, error) {
	if c.String("judge-url") == "" {
		return score.Judging{}, nil
	}
	key, err := s.apiKey(c.String("judge-key-file"), "ROLLMILL_JUDGE_API_KEY", "OPENAI_API_KEY")
	if err != nil {
		return score.Judging{}, err
	}
	l := &score.Ledger{PromptPrice: c.Float64("judge-prompt-price"), CompletionPrice: c.Float64("judge-completion-price"),
		MaxTokens: c.Int64("judge-max-tokens"), MaxCost: c.Float64("judge-max-cost")}
	if l.MaxTokens < 0 || l.MaxCost < 0 || l.PromptPrice < 0 || l.CompletionPrice < 0 || c.Int("judge-at-once") < 0 {
		return score.Judging{}, usage("leave a limit out for none", "a --judge- flag is negative")
	}
	if l.MaxCost > 0 && l.PromptPrice == 0 && l.CompletionPrice == 0 {
		return score.Judging{}, usage("give --judge-prompt-price and --judge-completion-price", "--judge-max-cost without prices")
	}
	uri := c.String("judge-cache")
	if uri == "" {
		dir, _ := storage.Split(out)
		uri = storage.Join(dir, "judge-cache")
	}
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return score.Judging{}, err
	}
	return score.Judging{Asker: asker{openai.Judge{URL: c.String("judge-url"), Key: key}}, Store: judgeStore{b}, Ledger: l, AtOnce: c.Int("judge-at-once")}, nil
}

// asker is the judges' server, its errors as package score knows them.
type asker struct{ openai.Judge }

func (a asker) Ask(ctx context.Context, q score.Question) (score.Reply, error) {
	answer, err := a.Judge.Ask(ctx, q.Model, q.Messages, q.Fields)
	var refused *openai.Error
	switch {
	case err == nil || ctx.Err() != nil:
	case !errors.As(err, &refused) || refused.Temporary():
		err = stages.Errorf(stages.KindTemporary, "the answers paid for are kept: run the same command again", "asking the judge at %q: %w", storage.Redact(a.URL), err)
	case refused.TooLong():
		err = fmt.Errorf("%w: %w", score.ErrTooLong, err)
	case refused.OfRequest():
		err = fmt.Errorf("%w: %w", score.ErrRefused, err)
	default:
		err = stages.Errorf(stages.KindFailed, "are --judge-url, the model's name and the key right?", "asking the judge at %q: %w", storage.Redact(a.URL), err)
	}
	return score.Reply(answer), err
}

// judgeStore keeps answers as small objects, by the first digits of their key.
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
