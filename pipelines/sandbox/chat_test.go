package sandbox

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAnAnswerHasIDsLogprobsAndText(t *testing.T) {
	h := start(t, Options{})
	c := h.chat(ask(DefaultBaseModel, emptyBoard, `"seed":1,"top_logprobs":3`))
	choice := c.Choices[0]
	if c.Object != "chat.completion" || c.Model != DefaultBaseModel || *choice.FinishReason != "stop" {
		t.Errorf("%+v", c)
	}
	if got := text(choice.TokenIDs); got != choice.Message.said()+"<|end|>" {
		t.Errorf("ids say %q, the text is %q", got, choice.Message.said())
	}
	if got, want := text(c.PromptTokenIDs), "<|user|>"+strings.ReplaceAll(emptyBoard, `\n`, "\n")+"<|end|><|assistant|>"; got != want {
		t.Errorf("prompt %q, want %q", got, want)
	}
	if want := (usage{len(c.PromptTokenIDs), len(choice.TokenIDs), len(c.PromptTokenIDs) + len(choice.TokenIDs)}); *c.Usage != want {
		t.Errorf("usage %+v, want %+v", *c.Usage, want)
	}
	if len(choice.Logprobs.Content) != len(choice.TokenIDs) {
		t.Fatalf("%d logprobs for %d tokens", len(choice.Logprobs.Content), len(choice.TokenIDs))
	}
	for i, l := range choice.Logprobs.Content {
		if l.Logprob > 0 || l.Token != tokenText(choice.TokenIDs[i]) || len(*l.Top) != 3 || (*l.Top)[0].Logprob < l.Logprob {
			t.Errorf("token %d: %+v", i, l)
		}
	}
}

func TestTokensMayBeNamedByTheirIDs(t *testing.T) {
	h := start(t, Options{})
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hi"}],"logprobs":true,"return_tokens_as_token_ids":true,"seed":1}`, DefaultBaseModel)
	r := h.do("POST", "/v1/chat/completions", body)
	var c chatResponse
	r.want(t, 200, &c)
	if c.PromptTokenIDs != nil || c.Choices[0].TokenIDs != nil {
		t.Error("ids come although nobody asked for them")
	}
	if !strings.Contains(string(r.body), `"top_logprobs":[]`) {
		t.Error("top_logprobs must be there even when it is empty: ART asks for it")
	}
	rebuilt := ""
	for _, l := range c.Choices[0].Logprobs.Content {
		id, err := parseTokenID(l.Token)
		if err != nil {
			t.Fatal(err)
		}
		rebuilt += tokenText(id)
	}
	if rebuilt != c.Choices[0].Message.said()+"<|end|>" {
		t.Errorf("ids say %q, the text is %q", rebuilt, c.Choices[0].Message.said())
	}
}

func TestLogprobsAreThoseOfTheDistributionDrawnFrom(t *testing.T) {
	h := start(t, Options{})
	drawn, said := map[string]int{}, map[string]float64{}
	const n = 4000
	for seed := range n / 100 {
		c := h.chat(ask(DefaultBaseModel, `A X O .\nB . . .\nC . . .`, fmt.Sprintf(`"seed":%d,"n":100,"temperature":0.8,"top_p":0.9`, seed)))
		for _, choice := range c.Choices {
			sum := 0.0
			for _, l := range choice.Logprobs.Content {
				sum += l.Logprob
			}
			drawn[choice.Message.said()]++
			said[choice.Message.said()] = math.Exp(sum)
		}
	}
	total := 0.0
	for answer, times := range drawn {
		total += said[answer]
		if got := float64(times) / n; math.Abs(got-said[answer]) > 5*math.Sqrt(said[answer]/n) {
			t.Errorf("%q is drawn with %.4f and said to have %.4f", answer, got, said[answer])
		}
	}
	if math.Abs(total-1) > 1e-9 {
		t.Errorf("the chances of all answers add up to %v", total)
	}
}

func TestAnswersDependOnSeedPromptAndSamplingAlone(t *testing.T) {
	a, b := start(t, Options{Seed: 3}), start(t, Options{Seed: 3})
	for range 5 {
		a.chat(ask(DefaultBaseModel, "noise", ""))
	}
	different := map[string]bool{}
	for seed := range 20 {
		body := ask(DefaultBaseModel, emptyBoard, fmt.Sprintf(`"seed":%d,"n":2`, seed))
		x, y := a.chat(body), b.chat(body)
		if d := cmp.Diff(x.Choices, y.Choices); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
		different[x.Choices[0].Message.said()] = true
		different[x.Choices[1].Message.said()] = true
	}
	if len(different) < 5 {
		t.Errorf("40 answers are only %d different ones", len(different))
	}
}

func TestWithoutASeedAnswersDiffer(t *testing.T) {
	h := start(t, Options{})
	different := map[string]bool{}
	for range 30 {
		different[h.chat(ask(DefaultBaseModel, emptyBoard, "")).Choices[0].Message.said()] = true
	}
	if len(different) < 2 {
		t.Error("thirty answers are all the same")
	}
}

func TestAStreamSaysWhatTheWholeAnswerSays(t *testing.T) {
	h := start(t, Options{})
	for seed := range 20 {
		more := fmt.Sprintf(`"seed":%d,"n":2,"top_logprobs":2`, seed)
		whole := h.chat(ask(DefaultBaseModel, emptyBoard, more))
		r := h.do("POST", "/v1/chat/completions", ask(DefaultBaseModel, emptyBoard, more+`,"stream":true,"stream_options":{"include_usage":true}`))
		r.want(t, 200, nil)
		if kind := r.header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
			t.Errorf("content type %q", kind)
		}
		got := assemble(t, string(r.body))
		got.ID, got.Created, got.Object = whole.ID, whole.Created, whole.Object
		if d := cmp.Diff(whole, got); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
}

// assemble puts the chunks of a stream together.
func assemble(t *testing.T, stream string) chatResponse {
	t.Helper()
	body, ok := strings.CutSuffix(stream, "data: [DONE]\n\n")
	if !ok {
		t.Fatalf("no end: %q", stream)
	}
	var out chatResponse
	for i, event := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		var chunk chatResponse
		if err := json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &chunk); err != nil {
			t.Fatalf("%q: %v", event, err)
		}
		if i == 0 {
			out = chunk
			out.Choices = nil
		} else if chunk.PromptTokenIDs != nil {
			t.Error("prompt ids come again after the first chunk")
		}
		if chunk.Usage != nil {
			out.Usage = chunk.Usage
		}
		for _, c := range chunk.Choices {
			if c.Delta.Role != "" {
				out.Choices = append(out.Choices, chatChoice{Index: c.Index, Message: c.Delta, Logprobs: &tokenLogprobs{}})
				continue
			}
			into := &out.Choices[c.Index]
			into.Message.add(c.Delta)
			into.TokenIDs = append(into.TokenIDs, c.TokenIDs...)
			into.Logprobs.Content = append(into.Logprobs.Content, c.Logprobs.Content...)
			into.FinishReason, into.StopReason = c.FinishReason, c.StopReason
		}
	}
	return out
}

func TestAnswersEndAtLimits(t *testing.T) {
	h := start(t, Options{})
	c := h.chat(ask(DefaultBaseModel, emptyBoard, `"max_tokens":2,"temperature":0`)).Choices[0]
	if *c.FinishReason != "length" || len(c.TokenIDs) != 2 {
		t.Errorf("max_tokens: %s after %d tokens", *c.FinishReason, len(c.TokenIDs))
	}
	c = h.chat(ask(DefaultBaseModel, emptyBoard, `"max_completion_tokens":1,"max_tokens":5,"temperature":0`)).Choices[0]
	if len(c.TokenIDs) != 1 {
		t.Errorf("max_completion_tokens: %d tokens", len(c.TokenIDs))
	}
	for _, stop := range []string{`"</move>"`, `["never","</mo"]`} {
		c = h.chat(ask(DefaultBaseModel, emptyBoard, `"temperature":0,"stop":`+stop)).Choices[0]
		if *c.FinishReason != "stop" || len(c.TokenIDs) != 3 || len(c.Message.said()) != len("<move>B2") || c.StopReason == nil {
			t.Errorf("stop %s: %q in %d tokens, %v", stop, c.Message.said(), len(c.TokenIDs), c.StopReason)
		}
	}
}

func TestTemperatureZeroIsAlwaysTheLikeliest(t *testing.T) {
	h := start(t, Options{})
	first := h.chat(ask(DefaultBaseModel, emptyBoard, `"temperature":0,"seed":1,"top_logprobs":1`)).Choices
	second := h.chat(ask(DefaultBaseModel, emptyBoard, `"temperature":0,"seed":2,"top_logprobs":1`)).Choices
	if d := cmp.Diff(first, second); d != "" {
		t.Error(d)
	}
	for _, l := range first[0].Logprobs.Content {
		if (*l.Top)[0].Token != l.Token {
			t.Errorf("%q is drawn, %q is likelier", l.Token, (*l.Top)[0].Token)
		}
	}
}

// An answer sent back as a message gives the same ids again, so the prompt of
// the next call begins with the prompt and the answer of the last.
func TestAConversationOnlyGrows(t *testing.T) {
	h := start(t, Options{})
	for seed := range 20 {
		c := h.chat(ask(DefaultBaseModel, emptyBoard, fmt.Sprintf(`"seed":%d`, seed)))
		next := fmt.Sprintf(`{"model":%q,"return_token_ids":true,"messages":[{"role":"user","content":"%s"},{"role":"assistant","content":%q},{"role":"user","content":"go on"}]}`,
			DefaultBaseModel, emptyBoard, c.Choices[0].Message.said())
		want := append(c.PromptTokenIDs, c.Choices[0].TokenIDs...)
		if got := h.chat(next).PromptTokenIDs; len(got) < len(want) || !cmp.Equal(got[:len(want)], want) {
			t.Fatalf("seed %d: the second prompt begins %q, want %q", seed, text(got), text(want))
		}
	}
}

func TestRequestsThatCannotBeServed(t *testing.T) {
	h := start(t, Options{Models: []string{"a/twice", "b/twice", "a/once"}})
	for name, c := range map[string]struct {
		body   string
		status int
		param  string
		says   string
	}{
		"unknown model":     {ask("nobody", "x", ""), 404, "model", "`nobody`"},
		"step not there":    {ask("once@7", "x", ""), 404, "model", "once@7"},
		"ambiguous":         {ask("twice", "x", ""), 400, "model", "project/name"},
		"no messages":       {`{"model":"once","messages":[]}`, 400, "messages", "at least one"},
		"bad role":          {`{"model":"once","messages":[{"role":"king","content":"x"}]}`, 400, "messages", "king"},
		"image":             {`{"model":"once","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "messages", "text only"},
		"not JSON":          {`{"model":`, 400, "", "request body"},
		"temperature":       {ask("once", "x", `"temperature":3`), 400, "temperature", "between 0 and 2"},
		"top_p":             {ask("once", "x", `"top_p":0`), 400, "top_p", "above 0"},
		"n":                 {ask("once", "x", `"n":0`), 400, "n", "between"},
		"top_logprobs":      {ask("once", "x", `"top_logprobs":21`), 400, "top_logprobs", "between"},
		"penalty":           {ask("once", "x", `"frequency_penalty":1`), 400, "logit_bias", "penalties"},
		"stop of no string": {ask("once", "x", `"stop":[1]`), 400, "stop", "string"},
		"too long":          {ask("once", strings.Repeat("x", maxContext), ""), 400, "messages", "maximum context length"},
	} {
		var answer struct{ Error apiError }
		h.do("POST", "/v1/chat/completions", c.body).want(t, c.status, &answer)
		got := ""
		set(&got, answer.Error.Param)
		if got != c.param || !strings.Contains(answer.Error.Message, c.says) || answer.Error.Type == "" {
			t.Errorf("%s: %+v, param %q", name, answer.Error, got)
		}
	}
	for _, fine := range []string{"once", "once@0", "a/twice", "b/twice@0", DefaultBaseModel} {
		h.chat(ask(fine, "x", ""))
	}
}

func TestTheKeyIsAskedForWhenThereIsOne(t *testing.T) {
	h := start(t, Options{APIKey: "secret"})
	h.do("GET", "/v1/models", "").want(t, 401, nil)
	h.do("POST", "/v1/chat/completions", ask(DefaultBaseModel, "x", ""), "Authorization", "Bearer wrong").want(t, 401, nil)
	h.do("POST", "/v1/chat/completions", ask(DefaultBaseModel, "x", ""), "Authorization", "Bearer secret").want(t, 200, nil)
	h.do("GET", "/healthcheck", "").want(t, 200, nil)
}

func TestAnyTextIsTokensAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom(special[:]))).Draw(t, "pieces")
		want := strings.Join(pieces, "")
		ids := appendTokens(nil, want)
		if got := text(ids); got != want {
			t.Fatalf("%q comes back as %q", want, got)
		}
		for _, id := range ids {
			if id >= 256 && id <= tokenEnd {
				t.Fatalf("%q forges %s", want, tokenText(id))
			}
		}
	})
}

func TestTheUntrainedPolicyPlaysLegally(t *testing.T) {
	for seed := range int64(5) {
		p := newPolicy(64, seed)
		legal, moves := 0, map[string]int{}
		const n = 2000
		for i := range n {
			b := board{own, other, free, free, other, free, own, free, free}
			a := p.sample(newView(b, false), sampling{temperature: 1, topP: 1, maxTokens: 16, seed: uint64(i)}, 0)
			var cell int
			if _, err := fmt.Sscanf(a.text, "<move>%c%d</move>", new(rune), &cell); err == nil && len(a.ids) == 4 && b[a.ids[1]-tokenCell] == free {
				legal++
				moves[a.text]++
			}
		}
		if legal < n*95/100 {
			t.Errorf("seed %d: %d of %d moves are legal", seed, legal, n)
		}
		for move, times := range moves {
			if times < n/5*7/10 || times > n/5*13/10 {
				t.Errorf("seed %d: %s is played %d times of %d, want about a fifth", seed, move, times, n)
			}
		}
	}
}
