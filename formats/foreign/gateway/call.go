package gateway

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// call is one call of a log.
type call struct {
	id       string    // the log's own; "" for none
	api      *apis.API // that the request speaks
	request  jsontext.Object
	tools    []byte // on offer, where the log does not have them as the API does; nil: those of the request
	answer   answer
	failure  *completion.Failure // as the log has it; nil for none
	times    importers.Times
	endpoint string
	cached   bool   // no engine was asked
	noTokens string // why the log has no tokens of the answer; "" where it could have them
	meta     importers.Metadata
}

// item returns the call as a row.
func (c *call) item() importers.Item {
	q, err := apis.ParseRequest(c.api, c.request.Bytes(), &apis.StoredResponses{})
	if err != nil {
		must.Fail("its request cannot be read as one of %s: %v", c.api.Name, err)
	}
	if len(q.Messages) == 0 {
		must.Fail("its request has no prompt: its %q is empty", prompts[c.api])
	}
	d := importers.Draft{Meta: c.meta, Times: c.times}
	if d.Offer(q.Tools); c.tools != nil {
		d.Offer(value.Tools(c.tools))
	}
	for _, m := range q.Messages {
		d.Input(m)
	}
	made := formats.Call{Model: q.Model, Sampling: sampling(q), Target: !c.cached, Endpoint: c.endpoint, Attempts: 1}
	if c.cached {
		made.Attempts = 0
	}
	if c.times.Began != 0 {
		made.LatencyMS = (c.times.Done - c.times.Began) / 1000
	}
	var a *completion.Answer
	failure := c.failure
	if failure == nil {
		a, failure = c.answer.read(q.Choices)
	}
	if failure != nil {
		a.CountSpent(&made)
		made.Error = failure.Text
		d.Call(made)
	} else {
		failure = addAnswer(&d, c, q, a, made)
	}
	x := importers.Item{ResponseID: c.answer.id()}
	d.Into(&x.Row)
	if x.Row.TrajectoryID = c.id; failure != nil {
		importers.Fail(&x.Row, failure.Class, failure.Text)
	}
	return x
}

// addAnswer adds a call that was answered, and returns why the answer is none that counts. Tokens that the recorder
// would refuse are left out, and why is in metadata.
func addAnswer(d *importers.Draft, c *call, q *apis.Request, a *completion.Answer,
	made formats.Call) *completion.Failure {
	a.Describe(&made)
	if !a.Usage.Known {
		completion.Note(&made, formats.NoUsage)
	}
	slices.SortStableFunc(a.Choices, func(x, y *completion.Choice) int { return cmp.Compare(x.Index, y.Index) })
	for _, choice := range a.Choices {
		choice.Assemble()
		if q.API.Translated() {
			choice.NameCalls(c.id)
		}
		if choice.AmbiguousCalls() {
			completion.Note(&made, formats.AmbiguousCalls)
		}
	}
	source, unfit := a.KeepTokens()
	if made.CompletionTokens == 0 && !a.Choices[0].Message.NoTokens() {
		a.CountSpent(&made)
	}
	d.Call(made)
	d.Source = source
	at := d.Last()
	for k, choice := range a.Choices {
		m := choice.Message
		m.PromptDeltaIDs = a.PromptIDs
		if a.PromptIDs == nil {
			m.PromptDeltaIDs = q.PromptIDs
		}
		if k > 0 {
			m.Branch = importers.BranchChoice
		}
		d.Continue(at)
		d.Choice(m)
	}
	if unfit != nil { // texts are fit for some training
		d.Meta.Add("no_tokens", importers.Quote(cmp.Or(c.noTokens, unfit.Text)))
	}
	reason := a.Choices[0].Message.FinishReason
	if outcomes.Finish(reason, nil) != outcomes.FinishFailed {
		return nil
	}
	return &completion.Failure{Class: outcomes.FailUnfinished,
		Text: "the model did not end its answer: its finish reason is " + string(importers.Quote(reason))}
}

// parameters are the members of a request that decide how a model samples. Others may name a person.
var parameters = strings.Fields(`api tools_left_out constrained_by temperature top_p top_k min_p typical_p n best_of
	max_tokens max_completion_tokens min_tokens stop stop_token_ids ignore_eos seed frequency_penalty presence_penalty
	repetition_penalty logit_bias response_format tool_choice parallel_tool_calls reasoning_effort thinking verbosity
	chat_template_kwargs structured_outputs guided_json guided_regex guided_choice guided_grammar json_schema regex ebnf
	structural_tag grammar echo suffix`)

func sampling(q *apis.Request) string {
	o := jsontext.ParseObject([]byte(q.Sampling(&apis.Defaults{})))
	o = slices.DeleteFunc(o, func(f jsontext.Member) bool { return !slices.Contains(parameters, f.Key) })
	return jsontext.Compact(o.Bytes())
}

// keepNamed keeps the members of a record that the user names by their paths.
func (c *call) keepNamed(r *importers.Record, o jsontext.Object) {
	for _, name := range cmp.Or(r.Options, &importers.Options{}).Keep {
		within, v := o, []byte(nil)
		for key := range strings.SplitSeq(name, ".") {
			v = within.Get(key)
			within = jsontext.ParseObject(v)
		}
		if c.meta.Add(name, v); r.Kept == nil {
			r.Kept = map[string]bool{}
		}
		r.Kept[name] = r.Kept[name] || v != nil
	}
}

const year2100 = 4.1e9

// micros reads a time by its type: a number of seconds since 1970, or a text of ISO 8601.
func micros(field string, v []byte) int64 {
	switch {
	case len(v) == 0 || string(v) == "null":
		return 0
	case v[0] == '"':
		if t := value.Micros(v); t != 0 {
			return t
		}
		must.Fail("%s is %s, not a time of ISO 8601", field, importers.Brief(v))
	}
	seconds := *must.Number(field, v)
	if seconds <= 0 || seconds > year2100 {
		must.Fail("%s is %s, not a number of seconds since 1970", field, importers.Brief(v))
	}
	return int64(math.Round(seconds * 1e6))
}

// span reads when a call began and ended.
func span(o jsontext.Object, began, done string) importers.Times {
	t := importers.Times{Began: micros(began, o.Get(began)), Done: micros(done, o.Get(done))}
	if t.Began != 0 && t.Done != 0 && t.Done < t.Began {
		must.Fail("%s is before %s", done, began)
	}
	t.Done = cmp.Or(t.Done, t.Began)
	return t
}

// refusedBy returns the failure of an error with an HTTP status; 0 for none.
func refusedBy(status int64, text string) *completion.Failure {
	class := outcomes.FailEngine
	if status == 499 { // the agent closed the connection, as nginx and LiteLLM have it
		class = outcomes.FailAbandoned
	} else if status >= 400 && status < 500 && status != 408 && status != 425 && status != 429 {
		class = outcomes.FailEngineRefused
	}
	return &completion.Failure{Class: class, Text: cmp.Or(text, noText)}
}

const noText = "the log has no text of the error"
