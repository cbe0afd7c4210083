// Package teacher asks another model how probable it finds each token that the policy sampled.
// It sends the recorded ids as a prompt, so nothing is sampled and nothing is tokenised again:
//
//	--reward 't*0=teacher:http://127.0.0.1:8000/v1,model=large'
//	--reward 't*0=teacher:http://127.0.0.1:30000,model=large,server=sglang,top-k=8'
//	--reward 't*0=teacher:http://127.0.0.1:8000/v1,model=policy,hint=solution'
//
// Its signals are the log probabilities of the tokens that train, in nats, and with top-k those
// of the K most probable tokens at each place. Estimator distill makes advantages of them. The
// reward itself is the mean over these tokens of how much more probable the teacher finds them
// than the policy did, in nats: minus an estimate of the reverse KL divergence.
//
// With hint, a field of the example is put before the conversation, as a system message
// in the teacher's own chat template: self-distillation, where the teacher is the
// policy that knows the answer (prime-rl, algo/opsd.py).
//
// Answers are cached by the ids, the model, the hint and K, whatever the trajectory, so
// each is paid for once. A teacher with another tokenizer would judge other words:
// where its text of an id is not that of the message, the stage ends.
package teacher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
)

// Kind is the reward's entry in the registry. The address does not decide the values:
// the server may move.
var Kind = score.RewardKind{
	Kind: plugin.Kind[score.RewardSettings]{
		Name: "teacher",
		Help: "ask an engine how probable another model finds each sampled token",
		New:  func() score.RewardSettings { return &Settings{Server: vllm} },
	},
	Decides: func(arguments string) string {
		_, decides, _ := strings.Cut(arguments, ",")
		return decides
	},
}

type Settings struct {
	URL, Model, Server string
	TopK               float64
	Hint               string
}

func (s *Settings) Declare(d *plugin.Declarer) {
	d.String(&s.URL, "url", "ask the engine at this `URL`; a key in ROLLMILL_REWARD_API_KEY is sent along").FirstInSpec()
	d.String(&s.Model, "model", "ask the model `NAME`")
	plugin.Choice(d, &s.Server, "server", "speak to this kind of `SERVER`", vllm, sglang)
	d.Float(&s.TopK, "top-k", "keep the `K` most probable tokens at each place, too")
	d.String(&s.Hint, "hint", "put this `FIELD` of the example before the conversation").DefaultShown("nothing")
}

func (s *Settings) Reward(setup score.Setup) (score.Reward, error) {
	u, err := url.Parse(s.URL)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil:
		return nil, fmt.Errorf("%q is not an http or https URL without a password", s.URL)
	case s.Model == "":
		return nil, errors.New("name the teacher with model=")
	case s.TopK != float64(int(s.TopK)) || s.TopK < 0 || s.TopK > maxTop:
		return nil, fmt.Errorf("top-k=%v is not a whole number from 0 to %d", s.TopK, maxTop)
	case s.Hint != "" && s.Server == sglang:
		return nil, errors.New("hint= needs the chat template, which server=sglang does not apply to a prompt of ids")
	}
	key := os.Getenv("ROLLMILL_REWARD_API_KEY")
	return &reward{Setup: setup, Settings: *s, url: strings.TrimSuffix(u.String(), "/"),
		free: make(chan struct{}, cmp.Or(setup.Judging.Concurrency, score.DefaultJudgeConcurrency)),
		service: remote.Client{Name: "teacher " + s.Model, HTTP: remote.NewHTTP(64), MaxBytes: 1 << 30,
			Sign: func(r *http.Request) { remote.Authorize(r, key) }}}, nil
}

type reward struct {
	score.Setup
	Settings
	url     string
	service remote.Client
	free    chan struct{} // places of requests under way
}

func (r *reward) Describe() score.Description { return score.Description{Detail: score.Tokens} }

func (r *reward) Close() error {
	r.service.HTTP.CloseIdleConnections()
	return nil
}

// Score asks about all rows concurrently.
func (r *reward) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	return score.EachRow(ctx, rows, values, 2*cap(r.free), r.value)
}

func (r *reward) value(ctx context.Context, row *score.Row) (v score.Value, err error) {
	if err := ctx.Err(); err != nil {
		return v, err
	}
	all, problem := sequences.Of(row.Trajectory)
	if problem != nil {
		return score.Failed(outcomes.RewardMissing, "%v", problem), nil
	}
	hint := ""
	if r.Hint != "" {
		field, err := row.Field(r.Hint)
		text, is := field.(string)
		if err != nil {
			return score.FieldFailed(err), nil
		}
		if hint = text; !is || text == "" {
			return score.Failed(outcomes.RewardMissing, "the example's field %q is no text", r.Hint), nil
		}
	}
	tokens := 0
	for i := range all {
		s := &all[i]
		said, err := r.judge(ctx, row, s, hint)
		var failed *failure
		if errors.As(err, &failed) {
			return failed.Value, nil
		} else if err != nil {
			return v, err
		}
		for k, message := range s.Messages {
			policy := row.Messages[message].Logprobs
			for n, logprob := range said.Logprobs[:len(policy)] {
				v.Reward += float64(logprob) - float64(policy[n])
			}
			tokens += len(policy)
			v.Signals = append(v.Signals, said.take(int32(s.Messages[k]), len(policy), int(r.TopK)))
		}
	}
	v.Reward /= float64(tokens)
	slices.SortStableFunc(v.Signals, func(a, b formats.Signal) int { return int(a.Message - b.Message) })
	return v, nil
}
