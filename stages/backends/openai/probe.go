package openai

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/storage/fault"
)

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
