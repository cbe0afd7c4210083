package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/regular"
)

// Panel asks a model one question several times, stores its answers, repairs
// what it can of them, and limits their cost. Rewards judge and ruler use it.
type Panel struct {
	score.Judging
	Model     string
	Rubric    string
	Repeats   int     // how often each question is asked, with another seed
	Repairs   int     // how often an invalid answer is sent back
	Agree     float64 // the largest difference between the repeats' scores; 0: any
	Clamp     bool    // clamp a score out of range instead of refusing it
	Context   int64   // the model's context in tokens, question and answer; 0: unknown
	MaxTokens int64   // of an answer
	Seed      int64

	fields map[string]any
	files  []string
	parts  []string // of the reward
	places chan struct{}
}

// NewPanel makes a panel from settings. schema is that of an answer; otherwise
// is the default rubric.
func NewPanel(s score.Setup, a Asking, schema map[string]any, otherwise string) (*Panel, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if s.Judging.Asker == nil {
		return nil, errors.New("no judge server: set --judge-url")
	}
	p := &Panel{
		Judging: s.Judging, Model: a.Model, Rubric: otherwise, Repeats: int(a.Repeats), Repairs: int(a.Repairs),
		Agree: a.Agree,
		Clamp: a.Outside == outsideClamp, Context: int64(a.Context), MaxTokens: int64(a.MaxTokens), Seed: s.Seed,
		fields: a.fields(schema), places: make(chan struct{}, cmp.Or(s.Judging.Concurrency, score.DefaultJudgeConcurrency)),
	}
	if a.Text != nil {
		p.Rubric = *a.Text
	}
	if a.Rubric == "" {
		return p, nil
	}
	text, err := regular.ReadFile(a.Rubric, maxRubric)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Invalid(a.Rubric, "check rubric=; a path is relative to the current folder", fs.ErrNotExist, "there is no such rubric")
	}
	p.Rubric, p.files = string(text), []string{a.Rubric}
	return p, err
}

const maxRubric = 16 << 20 // bytes

// Describe names the rubric's file.
func (p *Panel) Describe() score.Description {
	return score.Description{Detail: score.Text, Files: p.files, Parts: p.parts}
}

// Vote asks as often as Repeats says, each time with the messages that ask makes for a seed, and
// passes each answer to read, which returns a fixed number of votes in a fixed order, or none. The
// values are the means of a majority. An answer with an error is sent back, and the last that has
// votes counts; a failure of one question fails all its values; err ends the stage.
//
// A seed depends only on the stage's seed and the repeat: the same content is
// the same question, whichever trajectory it is from.
func (p *Panel) Vote(ctx context.Context, n int, ask func(seed int64) []formats.Message,
	read func(seed int64, text string) ([]Vote, error)) ([]score.Value, error) {
	var all [][]Vote
	failed := score.Value{}
	for k := range p.Repeats {
		seed := formats.Seed(p.Seed, "judge", strconv.Itoa(k))
		var votes []Vote
		err := p.ask(ctx, seed, ask(seed), func(text string) error {
			got, err := read(seed, text)
			if got != nil {
				votes = got
			}
			return err
		})
		var odd *nonsense
		switch {
		case errors.As(err, &odd):
			failed = score.Failed(outcomes.RewardAnswer, "%v", odd.reason)
		case errors.Is(err, score.ErrTooLong), errors.Is(err, score.ErrRefused):
			failed = score.Failed(outcomes.RewardError, "%v", err)
		case err != nil:
			return nil, err
		}
		if votes != nil {
			all = append(all, votes)
		}
	}
	values := make([]score.Value, n)
	for i := range values {
		values[i] = p.mean(all, i, failed)
	}
	return values, nil
}

// Vote is what an answer says of one thing: a score, or why there is none.
type Vote struct {
	Score  float64
	Reason string
	Odd    error
}

// mean returns the i-th value, with the reason of the first answer that counts.
func (p *Panel) mean(all [][]Vote, i int, failed score.Value) score.Value {
	var votes []Vote
	low, high, sum := math.Inf(1), math.Inf(-1), 0.0
	for _, of := range all {
		v := of[i]
		if v.Odd != nil {
			failed = score.Value{Failure: outcomes.RewardAnswer, Error: v.Odd.Error(), Reason: v.Reason}
			continue
		}
		votes = append(votes, v)
		low, high, sum = min(low, v.Score), max(high, v.Score), sum+v.Score
	}
	if 2*len(votes) <= p.Repeats { // no majority of valid answers
		return failed
	}
	if p.Agree > 0 && high-low > p.Agree {
		return score.Failed(outcomes.RewardAnswer, "%d answers do not agree: they range from %v to %v", len(votes),
			low, high)
	}
	return score.Value{Reward: sum / float64(len(votes)), Reason: votes[0].Reason}
}

// nonsense is an answer that could not be read, even after it was sent back.
type nonsense struct{ reason error }

func (n *nonsense) Error() string { return n.reason.Error() }

// ask asks once. A stored answer is reused; an invalid answer is sent back with
// the reason, and not stored.
func (p *Panel) ask(ctx context.Context, seed int64, messages []formats.Message, read func(string) error) error {
	q := score.Question{Model: p.Model, Messages: messages, Fields: map[string]any{"seed": seed & (1<<53 - 1)}}
	maps.Copy(q.Fields, p.fields)
	key := digest(q)
	if p.Store != nil {
		text, known, err := p.Store.Get(ctx, key)
		if err != nil {
			return err
		}
		if known && read(string(text)) == nil {
			p.Ledger.Hit(p.Model)
			return nil
		}
	}
	var reason error
	for range p.Repairs + 1 {
		text, err := p.once(ctx, q)
		if err != nil {
			return err
		}
		if reason = read(text); reason == nil {
			if p.Store != nil {
				return p.Store.Put(context.WithoutCancel(ctx), key, []byte(text))
			}
			return nil
		}
		q.Messages = append(slices.Clip(q.Messages), formats.Message{Role: "assistant", Content: text},
			formats.Message{Role: "user",
				Content: "This answer cannot be used: " + reason.Error() + ". Answer again, with the JSON object alone."})
	}
	return &nonsense{reason}
}

// once asks when there is a free place and the budget allows it.
func (p *Panel) once(ctx context.Context, q score.Question) (string, error) {
	prompt := int64(0)
	for _, m := range q.Messages {
		prompt += int64(len(m.Content))/3 + 8 // an upper estimate for most languages
	}
	if p.Context > 0 && prompt+p.MaxTokens > p.Context {
		return "", fmt.Errorf("%w: about %d tokens with the answer's, and it takes %d", score.ErrTooLong,
			prompt+p.MaxTokens, p.Context)
	}
	select {
	case p.places <- struct{}{}:
		defer func() { <-p.places }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	settle, err := p.Ledger.Reserve(p.Model, prompt, p.MaxTokens)
	if err != nil {
		return "", err
	}
	finishing, cancel := outlive(ctx)
	defer cancel()
	reply, err := p.Asker.Ask(finishing, q)
	settle(reply.PromptTokens, reply.CompletionTokens, reply.CachedTokens)
	return reply.Text, err
}

// grace is how long a question under way may still be answered once the stage is ended, by a
// signal or by its budget: it will be paid for, so its answer is better kept.
const grace = 10 * time.Second

// outlive returns a context that ends that much later than ctx.
func outlive(ctx context.Context) (context.Context, func()) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return later, func() { stop(); cancel() }
}

// digest identifies a question by everything that decides its answer.
func digest(q score.Question) string {
	type message struct{ Role, Content string }
	var messages []message
	for _, m := range q.Messages {
		messages = append(messages, message{m.Role, m.Content})
	}
	return formats.JSONDigest([]any{1, q.Model, messages, q.Fields})
}
