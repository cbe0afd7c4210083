package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rollmill/rollmill/stages"
)

// probeTimeout is for one token, of an engine that may be loading its model.
const probeTimeout = 5 * time.Minute

// reach makes sure that something answers before work is handed out. One
// endpoint of several is enough. It returns what each gives as logprobs.
func (o Options) reach(ctx context.Context) (logprobs map[string]string, _ error) {
	var errs []error
	logprobs = map[string]string{}
	for _, e := range o.Endpoints {
		probe := o.Probe
		if probe == nil {
			probe = listModels
		}
		limited, cancel := context.WithTimeout(ctx, probeTimeout)
		url := strings.TrimRight(e, "/")
		mode, err := probe(limited, url, o.APIKey, o.Model)
		logprobs[url] = mode
		cancel()
		if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
			err = stages.Errorf(stages.KindTemporary, "is the engine overloaded?", "rollout: %q: no answer within %s: %w", e, probeTimeout, err)
		}
		if err != nil {
			o.Logger().Warn("an endpoint does not answer", "endpoint", e, "error", err)
			errs = append(errs, err)
		}
	}
	if len(errs) < len(o.Endpoints) {
		return logprobs, nil
	}
	return nil, errors.Join(errs...)
}

// listModels asks for the list of models; any answer but a refused key is good.
func listModels(ctx context.Context, baseURL, apiKey, _ string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodGet, baseURL+"/models", nil)
	if err != nil {
		return "", err
	}
	if apiKey != "" {
		req.Header.Set("Authorization", "Bearer "+apiKey)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return "", stages.Errorf(stages.KindTemporary, "is the engine running, and is this its address?", "rollout: failed to connect to %q: %w", baseURL, err)
	}
	io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return "", stages.Errorf(stages.KindUsage, "give the engine's key in the environment", "rollout: %w", fmt.Errorf("%q refused the API key: HTTP %d", baseURL, resp.StatusCode))
	}
	return "", nil
}
