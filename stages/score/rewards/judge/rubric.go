package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/stages/score"
)

// call is a question about some of a rubric's items.
type call struct {
	*Panel
	system string
	items  []item
}

const itemInstructions = `You judge one conversation between a user and an assistant by items, each by itself. ` +
	`Score how far an item's text is true of what the assistant did, from %v (not at all) to %v (entirely), also if it is a fault.

` + material + `
%s
Answer with one JSON object and nothing else, with each item by its name: {"NAME": {"reason": "a sentence", "score": a number}}`

// itemize reads the rubric's items, each of which is a part. Their weights and the like are in no
// question, so that answers are stored by what was asked.
func (r *reward) itemize(s *Settings) (err error) {
	if r.items, err = readItems(s.Rubric, r.Rubric); err != nil {
		return err
	}
	size := len(r.items)
	if s.Calls == "each" {
		size = 1
	}
	for of := range slices.Chunk(r.items, size) {
		p, texts, fields := *r.Panel, "", map[string]any{}
		for _, x := range of {
			texts += fmt.Sprintf("\n<item name=%q>\n%s\n</item>\n", x.Name, strings.TrimSpace(x.Text))
			fields[x.Name] = verdict("reason")
			r.parts = append(r.parts, x.Name)
		}
		p.fields = s.fields(object(fields))
		r.calls = append(r.calls, call{&p, fmt.Sprintf(itemInstructions, r.min, r.max, texts), of})
	}
	return nil
}

// byItems returns the weighted mean of what counts of each item; 0 if a must-have failed, and nothing
// without all of them. A part is how far its item is true, as a share of the range of scores.
func (r *reward) byItems(ctx context.Context, content string) (v score.Value, err error) {
	var judged []score.Value
	for _, c := range r.calls {
		more, err := c.Vote(ctx, len(c.items), func(int64) []formats.Message { return question(c.system, content) },
			func(_ int64, text string) ([]Vote, error) { return r.votes(c.items, text) })
		if err != nil {
			return v, err
		}
		judged = append(judged, more...)
	}
	sum, weights := 0.0, 0.0
	for i, x := range r.items {
		part := score.Part{Failure: judged[i].Failure, Error: judged[i].Error, Reason: judged[i].Reason}
		if part.Failure != "" {
			if v.Parts = append(v.Parts, part); v.Failure == "" {
				v.Failure, v.Error = part.Failure, fmt.Sprintf("item %q: %s", x.Name, part.Error)
			}
			continue
		}
		counts := min((judged[i].Reward-r.min)/(r.max-r.min), 1) // a mean of repeats may be rounded up
		part.Value = new(counts)
		if v.Parts = append(v.Parts, part); x.Polarity == "negative" {
			counts = 1 - counts
		}
		if x.MustHave && counts < 0.5 && v.Reason == "" {
			v.Reason = fmt.Sprintf("must-have %q failed", x.Name)
		}
		sum, weights = sum+float64(*x.Weight*counts), weights+*x.Weight
	}
	switch {
	case v.Failure != "":
		v.Reason = "" // what is known does not decide what is not
	case v.Reason == "":
		v.Reward = sum / weights
	}
	return v, nil
}

type entry struct {
	Reason string   `json:"reason"`
	Score  *float64 `json:"score"`
}

// votes reads an answer: a vote for each item, and an error if one has no score or there are others.
func (r *reward) votes(items []item, text string) ([]Vote, error) {
	var answer json.RawMessage
	if err := Object(text, &answer); err != nil {
		return nil, err
	}
	votes, times, odd := make([]Vote, len(items)), make([]int, len(items)), ""
	for key, value := range jsontext.Members(answer) {
		i := slices.IndexFunc(items, func(x item) bool { return x.Name == string(key) })
		if i < 0 {
			odd = "there is no item " + score.Quote(key) + "; "
			continue
		}
		times[i]++
		var of entry
		v := &votes[i]
		if v.Odd = jsontext.Unmarshal(value, &of); v.Odd == nil {
			v.Reason = of.Reason
			v.Score, v.Odd = r.InRange(of.Score, r.min, r.max)
		}
	}
	for i, x := range items {
		if times[i] != 1 {
			votes[i] = Vote{Odd: fmt.Errorf("the answer has it %d times", times[i])}
		}
		if err := votes[i].Odd; err != nil {
			odd += fmt.Sprintf("item %q: %v; ", x.Name, err)
		}
	}
	if odd != "" {
		return votes, errors.New(strings.TrimSuffix(odd, "; "))
	}
	return votes, nil
}
