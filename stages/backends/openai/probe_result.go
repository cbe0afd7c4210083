package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
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

// rendered returns the ids that an engine's template gives messages, by the route that
// vLLM has; nil if the engine has none.
func (c Client) rendered(ctx context.Context, baseURL, apiKey, model string, messages []formats.Message) []int32 {
	body := map[string]any{"model": model, "add_generation_prompt": true,
		"messages": []map[string]string{{"role": messages[0].Role, "content": messages[0].Content}}}
	var answer struct{ Tokens []int32 }
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
	var list struct{ Data []struct{ ID string } }
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
