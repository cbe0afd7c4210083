package teacher

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage/fault"
)

// answer is what the teacher says of a sequence's trained tokens, in order. It is what
// the cache has.
type answer struct {
	Logprobs    []float32 `json:"logprobs"`
	TopIDs      []int32   `json:"top_ids,omitempty"` // k for each token, the best first
	TopLogprobs []float32 `json:"top_logprobs,omitempty"`
}

// take removes the first tokens, which are a message's, and returns them as its signal.
func (a *answer) take(message int32, tokens, k int) formats.Signal {
	s := formats.Signal{Message: message, Values: a.Logprobs[:tokens:tokens]}
	a.Logprobs = a.Logprobs[tokens:]
	for _, v := range s.Values {
		s.Value += float64(v) / float64(tokens)
	}
	if k > 0 {
		s.TopIDs, s.TopLogprobs = a.TopIDs[:tokens*k:tokens*k], a.TopLogprobs[:tokens*k:tokens*k]
		a.TopIDs, a.TopLogprobs = a.TopIDs[tokens*k:], a.TopLogprobs[tokens*k:]
	}
	return s
}

// failure is why a row has no value.
type failure struct{ score.Value }

func (f *failure) Error() string { return f.Failure }

func failed(class, format string, args ...any) error {
	return &failure{score.Failed(class, format, args...)}
}

// judge returns the teacher's answer about a sequence, from the cache if it is there.
func (r *reward) judge(ctx context.Context, row *score.Row, s *sequences.Sequence, hint string) (*answer, error) {
	k := int(r.TopK)
	key := formats.JSONDigest([]any{"teacher", 1, r.Model, hint, k, s.Prompt, s.Response})
	var out answer
	if store := r.Judging.Store; store != nil {
		data, known, err := store.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		if known && json.Unmarshal(data, &out) == nil && len(out.Logprobs) == s.Tokens && len(out.TopIDs) == k*s.Tokens {
			r.Judging.Ledger.Hit(r.Model)
			return &out, nil
		}
	}
	places, err := r.ask(ctx, s, hint)
	if err != nil {
		return nil, err
	}
	if err := sameTokens(row, s, places); err != nil {
		return nil, fault.Errorf(fault.Failed, "a teacher needs the policy's tokenizer",
			"reward %q: trajectory %q: %w", r.Name,
			row.TrajectoryID, err)
	}
	out = answer{}
	for i, trains := range s.Mask {
		if !trains {
			continue
		}
		out.Logprobs = append(out.Logprobs, float32(places[i].logprob))
		for _, t := range places[i].top {
			out.TopIDs, out.TopLogprobs = append(out.TopIDs, t.id), append(out.TopLogprobs, float32(t.logprob))
		}
	}
	if len(out.TopIDs) != k*s.Tokens {
		return nil, failed(outcomes.RewardAnswer, "%d alternatives for %d tokens, and %d were asked for", len(out.TopIDs), s.Tokens, k)
	}
	if r.Judging.Store != nil {
		data, err := json.Marshal(out)
		if err == nil {
			err = r.Judging.Store.Put(context.WithoutCancel(ctx), key, data)
		}
		return &out, err
	}
	return &out, nil
}

// ask asks the engine, when there is a free place and the budget allows it. It returns
// the places of the response.
func (r *reward) ask(ctx context.Context, s *sequences.Sequence, hint string) ([]place, error) {
	select {
	case r.free <- struct{}{}:
		defer func() { <-r.free }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var ids []int32
	if hint != "" {
		var err error
		if ids, err = r.hintIDs(ctx, hint); err != nil {
			return nil, err
		}
	}
	ids = append(append(ids, s.Prompt...), s.Response...)
	settle, err := r.Judging.Ledger.Reserve(r.Model, int64(len(ids)), 1)
	if err != nil {
		return nil, err
	}
	places, err := servers[r.Server](r, ctx, ids)
	if err != nil {
		settle(0, 0, 0)
		return nil, err
	}
	settle(int64(len(ids)), 1, 0) // engines compute the log probabilities of a whole prompt
	if len(places) != len(ids) {
		return nil, failed(outcomes.RewardAnswer, "log probabilities of %d places for a prompt of %d ids", len(places), len(ids))
	}
	places = places[len(ids)-len(s.Response):]
	for i, p := range places {
		if s.Mask[i] && !p.known {
			return nil, failed(outcomes.RewardAnswer, "no log probability of id %d", s.Response[i])
		}
	}
	return places, nil
}

// post sends a request. A refusal of it alone is a *failure.
func (r *reward) post(ctx context.Context, path string, body, answer any) error {
	_, err := remote.Retry(ctx, 5, 200*time.Millisecond, func() (struct{}, error) {
		_, err := r.service.Do(ctx, remote.Request{Method: http.MethodPost, URL: r.url + path, JSON: body,
			Limit: cmp.Or(r.Timeout, -1)}, answer)
		return struct{}{}, err
	})
	var e *remote.Error
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case remote.MendOf(err) != "":
		return remote.Refuses(remote.MendOf(err), "ROLLMILL_REWARD_API_KEY", "reward %q: the teacher at %q: %w", r.Name, r.url, err)
	case errors.As(err, &e) && (e.Unsent || e.Retry):
		return fault.Errorf(fault.Temporary, "check that the engine runs, and the URL; answers that were paid for are kept",
			"%w", err)
	}
	return failed(outcomes.RewardError, "%v", err)
}
