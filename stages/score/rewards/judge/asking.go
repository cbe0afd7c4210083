package judge

import (
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/stages/plugin"
)

// Asking are the settings of rewards that ask a model. Whole numbers are
// floats, because a spec may write 4000 as 4e3.
type Asking struct {
	Model       string
	Rubric      string  // a file
	Text        *string // the rubric itself
	Repeats     float64 // how often each question is asked, with another seed
	Repairs     float64 // how often an invalid answer is sent back
	Agree       float64 // the largest difference between the repeats' scores; 0: any
	Outside     string  // handling of a score out of range
	Context     float64 // the model's context in tokens, question and answer; 0: unknown
	MaxTokens   float64 // of an answer
	Temperature *float64
	Effort      *string
	Format      string
}

// Handling of a score out of range.
const (
	outsideRefuse = "refuse"
	outsideClamp  = "clamp"
)

// How the form of an answer is requested.
const (
	formatSchema = "schema"
	formatObject = "object"
	formatNone   = "none"
)

func NewAsking() Asking {
	return Asking{Repeats: 1, Repairs: 1, Outside: outsideRefuse, MaxTokens: 2048, Format: formatSchema}
}

func (a *Asking) Declare(d *plugin.Declarer) {
	d.String(&a.Model, "model", "ask the model `NAME`")
	d.String(&a.Rubric, "rubric", "judge by the rubric in this `FILE`; if it ends in .yaml or .yml, judge by its items").
		DefaultShown("a general one")
	d.Float(&a.Repeats, "repeats", "ask `N` times, each with another seed, and use the mean of a majority")
	d.Float(&a.Agree, "agree", "give no reward when the repeats differ by more than `NUMBER`; 0: no limit")
	plugin.Choice(d, &a.Outside, "outside",
		"handle a score out of range in this `WAY`: refuse it, or clamp it to the end of the range", outsideRefuse,
		outsideClamp)
	d.Float(&a.Repairs, "repairs", "send an answer that cannot be used back up to `N` times")
	d.Float(&a.Context, "context", "refuse a question that exceeds the model's context of `N` tokens; 0: the server checks")
	d.Float(&a.MaxTokens, "max-tokens", "allow an answer of `N` tokens")
	d.OptionalFloat(&a.Temperature, "temperature", "sample at `TEMPERATURE`").DefaultShown("the server's")
	d.OptionalString(&a.Effort, "effort", "ask for the reasoning effort `LEVEL`").DefaultShown("the server's")
	plugin.Choice(d, &a.Format, "format",
		"ask for an answer in this `FORMAT`: that of a JSON schema, any JSON object, or none", formatSchema,
		formatObject, formatNone)
	d.OptionalString(&a.Text, "text", "judge by this `RUBRIC`; it must be last, and may contain commas").LastInSpec()
}

func (a *Asking) check() error {
	if a.Model == "" {
		return errors.New("name the judge with model=")
	}
	if a.Rubric != "" && a.Text != nil {
		return errors.New("rubric= and text= are both given")
	}
	temperature := 0.0
	if a.Temperature != nil {
		temperature = *a.Temperature
	}
	for _, n := range []struct {
		key        string
		value, min float64
	}{
		{"repeats", a.Repeats, 1}, {"repairs", a.Repairs, 0}, {"agree", a.Agree, 0}, {"context", a.Context, 0},
		{"max-tokens", a.MaxTokens, 1}, {"temperature", temperature, 0},
	} {
		if !(n.value >= n.min && n.value < 1e9) {
			return fmt.Errorf("%s=%v is not a number from %v on", n.key, n.value, n.min)
		}
	}
	return nil
}

// fields returns the fields of a question besides its model, messages and seed.
func (a *Asking) fields(schema map[string]any) map[string]any {
	fields := map[string]any{"max_tokens": int64(a.MaxTokens)}
	if a.Temperature != nil {
		fields["temperature"] = *a.Temperature
	}
	if a.Effort != nil {
		fields["reasoning_effort"] = *a.Effort
	}
	switch a.Format {
	case formatSchema:
		fields["response_format"] = map[string]any{"type": "json_schema",
			"json_schema": map[string]any{"name": "scores", "strict": true, "schema": schema}}
	case formatObject:
		fields["response_format"] = map[string]any{"type": "json_object"}
	}
	return fields
}
