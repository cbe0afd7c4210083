package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/storage/fault"
)

// ProbeResult is what a probe learnt about an engine.
type ProbeResult struct {
	Models    []string // listed models; empty without a list
	Model     string   // the model that answered
	TokenIDs  bool     // it gives token ids
	Gateway   string   // the gateway that answered, if its answers tell: "Bifrost"; "" for an engine or another gateway
	PromptIDs bool     // and the prompt's
	Templated *bool    // these are the ids that its route /tokenize gives for the same messages; nil if it has none
	Logprobs  string   // what its logprobs are of: formats.LogprobsRaw or LogprobsProcessed; "" if unknown
}

// Probe checks that an engine is fit for rollouts: that it answers, knows the
// model and returns logprobs. It costs one token, and two more for an engine
// that returns token ids, to find out what its logprobs are of (see ProbeResult).
func Probe(ctx context.Context, baseURL, apiKey, model string) (logprobs string, err error) {
	f, err := Client{}.Look(ctx, baseURL, apiKey, model)
	return f.Logprobs, err
}

// Look is Probe that also returns all of the result.
func (c Client) Look(ctx context.Context, baseURL, apiKey, model string) (ProbeResult, error) {
	var f ProbeResult
	var err error
	if f.Models, err = c.models(ctx, baseURL, apiKey); err != nil {
		return f, probeError(ctx, baseURL, model, f, err)
	}
	question := []formats.Message{{Role: "user", Content: "Hello"}}
	fields := map[string]any{"max_tokens": 1, "logprobs": true, "return_token_ids": true}
	body, err := c.bounded(ctx, baseURL, apiKey, model, question, fields)
	if refused(err, "return_token_ids") {
		delete(fields, "return_token_ids")
		body, err = c.bounded(ctx, baseURL, apiKey, model, question, fields)
	}
	if err != nil {
		return f, probeError(ctx, baseURL, model, f, err)
	}
	prompt, err := f.read(baseURL, body)
	if err == nil && f.TokenIDs && len(prompt) > 0 {
		f.Logprobs = c.logprobsMode(ctx, baseURL, apiKey, model, prompt)
	}
	if err == nil && f.PromptIDs {
		if ids := c.rendered(ctx, baseURL, apiKey, model, question); ids != nil {
			f.Templated = new(slices.Equal(ids, prompt))
		}
	}
	return f, err
}

// rendered returns the ids that an engine's template gives messages, by the route that
// vLLM has; nil if the engine has none.
func (c Client) rendered(ctx context.Context, baseURL, apiKey, model string, messages []formats.Message) []int32 {
	body := map[string]any{"model": model, "add_generation_prompt": true,
		"messages": []map[string]string{{"role": messages[0].Role, "content": messages[0].Content}}}
	var answer struct {
		Tokens []int32 `json:"tokens"`
	}
	r := remote.Client{HTTP: c.HTTP, Sign: func(r *http.Request) { remote.Authorize(r, apiKey) }}
	if _, err := r.Do(ctx, remote.Request{Method: http.MethodPost, URL: strings.TrimSuffix(baseURL, "/v1") + "/tokenize", JSON: body,
		Limit: 30 * time.Second}, &answer); err != nil {
		return nil
	}
	return answer.Tokens
}

// models lists the engine's models; nil if it has no list.
func (c Client) models(ctx context.Context, baseURL, apiKey string) ([]string, error) {
	x := &exchange{http: c.http()}
	_, err := x.client(baseURL, apiKey).ListModels(ctx)
	if err != nil {
		err = plain(err)
		var e *Error
		if errors.As(err, &e) && e.Mend() != remote.MendKey {
			return nil, nil // the chat request will show the error
		}
		return nil, err
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(x.body, &list) != nil {
		return nil, nil
	}
	var out []string
	for _, m := range list.Data {
		out = append(out, m.ID)
	}
	return out, nil
}

const moved = "provider_specific_fields" // where LiteLLM moves members that OpenAI's API lacks

// read returns the prompt's ids, if the engine sends them.
func (f *ProbeResult) read(baseURL string, body []byte) (prompt []int32, err error) {
	var answer struct {
		completion
		Prompt []int32 `json:"prompt_token_ids"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || len(answer.Choices) == 0 {
		return nil, fault.Errorf(fault.Failed,
			"is this the base URL of an OpenAI-compatible server? it usually ends in /v1",
			"%q does not answer with a chat completion", baseURL)
	}
	f.Model, f.PromptIDs = answer.Model, answer.Prompt != nil
	top := jsontext.ParseObject(body)
	for first := range jsontext.Elements(top.Get("choices")) {
		c := jsontext.ParseObject(first)
		m := jsontext.ParseObject(c.Get("message"))
		for _, o := range []jsontext.Object{c, m, jsontext.ParseObject(c.Get(moved)), jsontext.ParseObject(m.Get(moved))} {
			f.TokenIDs = f.TokenIDs || o.Has("token_ids") || o.Has("response_token_ids") || o.Has("generation_token_ids")
		}
		break
	}
	if jsontext.ParseObject(top.Get("extra_fields")).Has("request_type") {
		f.Gateway = "Bifrost"
	}
	if l := answer.Choices[0].Logprobs; l == nil || len(l.Content) == 0 {
		return nil, fault.Errorf(fault.Failed,
			"start the engine with logprobs on (vLLM and SGLang give them unless --max-logprobs is 0; a hosted API may not "+
				"offer them), or accept none with --no-logprobs",
			"the engine at %q gives no logprobs", baseURL)
	}
	return answer.Prompt, nil
}

// refused reports whether an engine refused a field by name.
func refused(err error, field string) bool {
	var e *Error
	return errors.As(err, &e) && (e.Status == 400 || e.Status == 422) && strings.Contains(e.Text, field)
}

const keyFrom = "that of --api-key-file, ROLLMILL_API_KEY or OPENAI_API_KEY, in this order"

// probeError returns an error with the step, the cause and a hint.
func probeError(ctx context.Context, baseURL, model string, f ProbeResult, err error) error {
	var e *Error
	var op *net.OpError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &e):
		hint := "is the engine running, and is this its address?"
		if errors.As(err, &op) && op.Op != "dial" {
			hint = "the connection dropped; look at the engine's log"
		}
		return fault.Errorf(fault.Temporary, hint, "failed to connect to %q: %w", baseURL, err)
	case e.Mend() == remote.MendModel && len(f.Models) > 0 && !slices.Contains(f.Models, model):
		return Refuses(err, keyFrom, "the engine at %q has no model %q, it serves %s: %w", baseURL, model, quoted(f.Models), err)
	case e.Mend() == remote.MendModel:
		return Refuses(err, keyFrom, "%q has no chat completions of model %q (a base URL usually ends in /v1): %w", baseURL, model, err)
	case e.Mend() == remote.MendKey:
		return Refuses(err, keyFrom, "%q refused the API key: %w", baseURL, err)
	case e.Mend() != "":
		return Refuses(err, keyFrom, "the engine at %q refuses everybody: %w", baseURL, err)
	case e.Status == 429 || e.Status >= 500:
		return fault.Errorf(fault.Temporary, "the engine may still be loading; try again, or look at its log",
			"the engine at %q is not ready: %w", baseURL, err)
	}
	return fault.Errorf(fault.Failed, "the engine must take logprobs and max_tokens in chat completions",
		"the engine at %q refused a chat completion: %w", baseURL, err)
}

func quoted(names []string) string {
	out := make([]string, 0, len(names))
	for _, n := range names[:min(len(names), 10)] {
		out = append(out, fmt.Sprintf("%q", n))
	}
	return strings.Join(out, ", ")
}
