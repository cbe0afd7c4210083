package rollout

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/storage/fault"
)

// probeTimeout is the limit for one token, from an engine that may be loading
// its model.
const probeTimeout = 5 * time.Minute

// reach checks that an endpoint answers before any attempt begins. One of
// several is enough. It returns what the logprobs of each endpoint are of.
func (o Options) reach(ctx context.Context) (logprobs map[string]string, _ error) {
	var errs []error
	logprobs = map[string]string{}
	for _, e := range o.Endpoints {
		probe := listModels
		if o.Probe && !o.NoLogprobs {
			probe = o.Prober
		}
		limited, cancel := context.WithTimeout(ctx, probeTimeout)
		url := strings.TrimRight(e, "/")
		mode, err := probe(limited, url, o.APIKey, o.Model)
		logprobs[url] = mode
		cancel()
		if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
			err = fault.Errorf(fault.Temporary, "is the engine overloaded?", "rollout: %q: no answer within %s: %w", e,
				probeTimeout, err)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == len(o.Endpoints) {
		return nil, errors.Join(errs...)
	}
	for _, err := range errs {
		o.Logger().Warn("an endpoint does not answer", "error", err)
	}
	return logprobs, nil
}

// listModels requests the list of models. Any answer is good, except one that
// refuses the key.
func listModels(ctx context.Context, baseURL, apiKey, _ string) (string, error) {
	c := remote.Client{Sign: func(r *http.Request) { remote.Authorize(r, apiKey) }}
	_, err := c.Do(ctx, remote.Request{URL: baseURL + "/models", Limit: 30 * time.Second}, nil)
	switch status := remote.Status(err); {
	case remote.MendOf(err) != "" && status != http.StatusNotFound: // not every engine lists its models
		return "", remote.Refuses(remote.MendOf(err), keyFrom, "rollout: the engine refuses everybody: %q: %w", baseURL, err)
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && status == 0:
		return "", fault.Errorf(fault.Temporary, "is the engine running, and is this its address?",
			"rollout: failed to connect to %q: %w", baseURL, cmp.Or(errors.Unwrap(err), err))
	}
	return "", nil
}

// lost returns the error of a model that no endpoint answers: a temporary one if time may mend an endpoint. It is nil
// if one answers, or refuses only this request.
func (o Options) lost(ctx context.Context, model, api string) (lost *fault.Error) {
	c := remote.Client{Name: "rollout: the engine is lost", Sign: func(r *http.Request) { remote.Authorize(r, o.APIKey) },
		Secrets: []string{o.APIKey}}
	body := map[string]any{"model": model, "max_tokens": 1, "messages": []map[string]string{{"role": "user", "content": "Hello"}}}
	if api == "/completions" {
		body = map[string]any{"model": model, "max_tokens": 1, "prompt": "Hello"}
	}
	for _, url := range o.Endpoints {
		_, err := c.Do(ctx, remote.Request{Method: http.MethodPost, URL: strings.TrimRight(url, "/") + api, JSON: body,
			Limit: min(cmp.Or(o.CallTimeout, probeTimeout), probeTimeout)}, nil)
		var failed *remote.Error
		switch mend := remote.MendOf(err); {
		case mend != "" && lost == nil:
			lost = remote.Refuses(mend, keyFrom, "%w (model %q)", err, model)
		case mend != "":
		case errors.As(err, &failed) && failed.Retry:
			lost = fault.Errorf(fault.Temporary,
				"is the engine up? look at its log; then run the same command again, which makes the rest",
				"%w (model %q)", err, model)
		default:
			return nil
		}
	}
	return lost
}

const keyFrom = "that of --api-key-file, ROLLMILL_API_KEY or OPENAI_API_KEY, in this order"
