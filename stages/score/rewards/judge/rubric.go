package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/stages/score"
)

// How many items a question has.
const (
	callsOne  = "one"
	callsEach = "each"
)

// rubricItems are the items of a rubric. Each is a part of the reward: how far its text is true, as a
// share of the range of scores, and the judge's reason.
type rubricItems struct {
	items    []item
	min, max float64
	calls    []call
}

// call is a question about some of the items.
type call struct {
	*Panel
	*rubricItems
	of []item
}

// itemized reads the rubric's items. The answers are stored by what is asked: weights, polarities and must-haves are not.
func (s *Settings) itemized(p *Panel) (*rubricItems, error) {
	items, err := readItems(s.Rubric, p.Rubric)
	if err != nil {
		return nil, err
	}
	r := &rubricItems{items: items, min: s.Min, max: s.Max}
	size := len(items)
	if s.Calls == callsEach {
		size = 1
	}
	for of := range slices.Chunk(items, size) {
		asked, one := *p, map[string]any{}
		for _, x := range of {
			one[x.name] = object("reason", "score")
		}
		asked.fields = s.fields(objectOf(one))
		r.calls = append(r.calls, call{&asked, r, of})
	}
	return r, nil
}

// parts are the items' names.
func (r *rubricItems) parts() (out []string) {
	for _, x := range r.items {
		out = append(out, x.name)
	}
	return out
}

// value asks about a conversation.
func (r *rubricItems) value(ctx context.Context, content string) (score.Value, error) {
	got := make([][]score.Value, len(r.calls))
	g, ctx := errgroup.WithContext(ctx)
	for i := range r.calls {
		g.Go(func() (err error) {
			got[i], err = r.calls[i].ask(ctx, content)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return score.Value{}, err
	}
	return r.total(slices.Concat(got...)), nil
}

// total is the weighted mean of what counts of each item; 0 if a must-have failed. Without all items there is none.
func (r *rubricItems) total(judged []score.Value) score.Value {
	var v score.Value
	sum, weights, failed := 0.0, 0.0, ""
	for i, x := range r.items {
		j := &judged[i]
		if j.Failure != "" {
			v.Parts = append(v.Parts, score.Part{Failure: j.Failure, Error: j.Error, Reason: j.Reason})
			if v.Failure == "" {
				v.Failure, v.Error = j.Failure, fmt.Sprintf("item %q: %s", x.name, j.Error)
			}
			continue
		}
		share := min((j.Reward-r.min)/(r.max-r.min), 1) // a mean of repeats may be rounded up
		v.Parts = append(v.Parts, score.Part{Value: &share, Reason: j.Reason})
		counts := share
		if x.negative {
			counts = 1 - share
		}
		if x.must && counts < 0.5 && failed == "" {
			failed = fmt.Sprintf("must-have %q failed", x.name)
		}
		sum, weights = sum+float64(x.weight*counts), weights+x.weight
	}
	switch {
	case v.Failure != "":
	case failed != "":
		v.Reason = failed
	default:
		v.Reward = sum / weights
	}
	return v
}

const itemInstructions = `You judge one conversation between a user and an assistant by items, each by itself. ` +
	`Score how far the text of an item is true of what the assistant did, from %v (not at all) to %v (entirely), also where it describes a fault.

` + material + `

%s
Answer with one JSON object and nothing else, with one entry for each item, by its name: {"NAME": {"reason": "a sentence", "score": a number}}`

// ask returns the scores of the call's items.
func (c *call) ask(ctx context.Context, content string) ([]score.Value, error) {
	var texts strings.Builder
	for _, x := range c.of {
		fmt.Fprintf(&texts, "<item name=%q>\n%s\n</item>\n", x.name, strings.TrimSpace(x.text))
	}
	system := fmt.Sprintf(itemInstructions, c.min, c.max, texts.String())
	return c.Vote(ctx, len(c.of), func(int64) []formats.Message { return conversation(system, content) },
		func(_ int64, text string) ([]Vote, error) { return c.read(text) })
}

// read returns a vote for each item, and an error if one of them has no score, or the answer more than the items.
func (c *call) read(text string) ([]Vote, error) {
	var answer json.RawMessage
	if err := Object(text, &answer); err != nil {
		return nil, err
	}
	var odd []string
	seen := map[string]int{}
	votes := make([]Vote, len(c.of))
	for key, value := range jsontext.Members(answer) {
		i := slices.IndexFunc(c.of, func(x item) bool { return x.name == string(key) })
		if i < 0 {
			odd = append(odd, "there is no item "+score.Quote(key))
			continue
		}
		if seen[string(key)]++; seen[string(key)] == 1 {
			votes[i] = c.vote(value)
		}
	}
	for i, x := range c.of {
		switch n := seen[x.name]; {
		case n == 0:
			votes[i] = Vote{Odd: errors.New("it is missing")}
		case n > 1:
			votes[i] = Vote{Odd: fmt.Errorf("it is there %d times", n)}
		}
		if err := votes[i].Odd; err != nil {
			odd = append(odd, fmt.Sprintf("item %q: %v", x.name, err))
		}
	}
	if odd != nil {
		return votes, errors.New(strings.Join(odd[:min(len(odd), maxOdd)], "; "))
	}
	return votes, nil
}

const maxOdd = 16 // that an answer is told of

func (c *call) vote(text []byte) (v Vote) {
	var answer struct {
		Reason string   `json:"reason"`
		Score  *float64 `json:"score"`
	}
	if text[0] != '{' {
		return Vote{Odd: errors.New("it is no object with a reason and a score")}
	}
	if v.Odd = jsontext.Unmarshal(text, &answer); v.Odd == nil {
		v.Reason = answer.Reason
		v.Score, v.Odd = c.InRange(answer.Score, c.min, c.max)
	}
	return v
}
