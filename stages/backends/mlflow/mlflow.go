// Package mlflow is a client of MLflow's tracking server, over its REST interface of
// version 2.0: experiments, runs and metrics. It trains nothing.
package mlflow

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

// RunTag is the tag by which a run is found again.
const RunTag = "rollmill.run"

const (
	maxMetrics = 1000 // in a request
	limit      = 10 * time.Second
)

// Login is what a server may ask for: a token, or a name and a password.
type Login struct{ Token, User, Password string }

// Client sends requests to a server. It is safe for concurrent use.
type Client struct {
	base   string
	client remote.Client
}

// New returns a client of the server at an http URL.
func New(uri string, l Login) (*Client, error) {
	if u, err := url.Parse(uri); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &remote.Error{What: "the address of the tracking server is not an http URL",
			Help: "start one: mlflow server", Usage: true}
	}
	secrets := []string{l.Token, l.Password}
	if l.User != "" { // a server may repeat the header
		secrets = append(secrets, base64.StdEncoding.EncodeToString([]byte(l.User+":"+l.Password)))
	}
	return &Client{strings.TrimSuffix(uri, "/") + "/api/2.0/mlflow/",
		remote.Client{Name: "mlflow", Secrets: secrets, Sign: func(r *http.Request) {
			if remote.Authorize(r, l.Token); l.Token == "" && l.User != "" {
				r.SetBasicAuth(l.User, l.Password)
			}
		}}}, nil
}

func (c *Client) get(ctx context.Context, path string, query url.Values, answer any) error {
	_, err := c.client.Do(ctx, remote.Request{URL: c.base + path + "?" + query.Encode(), Limit: limit}, answer)
	return err
}

func (c *Client) post(ctx context.Context, path string, body, answer any) error {
	_, err := c.client.Do(ctx, remote.Request{Method: http.MethodPost, URL: c.base + path, JSON: body, Limit: limit}, answer)
	return err
}

// Experiment returns the id of an experiment, which is made if need be.
func (c *Client) Experiment(ctx context.Context, name string) (string, error) {
	var found struct {
		Experiment struct {
			ID string `json:"experiment_id"`
		} `json:"experiment"`
	}
	query := url.Values{"experiment_name": {name}}
	err := c.get(ctx, "experiments/get-by-name", query, &found)
	if remote.Status(err) != http.StatusNotFound {
		return found.Experiment.ID, err
	}
	var made struct {
		ID string `json:"experiment_id"`
	}
	// another process made it
	if err = c.post(ctx, "experiments/create", map[string]string{"name": name}, &made); err != nil &&
		remote.Status(err) == http.StatusBadRequest {
		err = c.get(ctx, "experiments/get-by-name", query, &found)
		made.ID = found.Experiment.ID
	}
	return made.ID, err
}

type tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type run struct {
	Info struct {
		ID string `json:"run_id"`
	} `json:"info"`
}

// Run returns the id of the run with a name, which is made if need be.
func (c *Client) Run(ctx context.Context, experiment, name string) (string, error) {
	var found struct {
		Runs []run `json:"runs"`
	}
	err := c.post(ctx, "runs/search",
		map[string]any{"experiment_ids": []string{experiment}, "max_results": 1,
			"order_by": []string{"attributes.start_time ASC"},
			"filter":   fmt.Sprintf("tags.`%s` = '%s'", RunTag, tagValue(name))}, &found)
	if err != nil {
		return "", err
	}
	if len(found.Runs) > 0 {
		return found.Runs[0].Info.ID, nil
	}
	var made struct {
		Run run `json:"run"`
	}
	err = c.post(ctx, "runs/create",
		map[string]any{"experiment_id": experiment, "run_name": name, "start_time": time.Now().UnixMilli(),
			"tags": []tag{{RunTag, tagValue(name)}, {"mlflow.source.name", "rollmill"}}}, &made)
	return made.Run.Info.ID, err
}

// tagValue returns a value that needs no quotes in a filter.
func tagValue(name string) string { return url.PathEscape(strings.ReplaceAll(name, "'", "%27")) }

// Metric is a number at a step.
type Metric struct {
	Key   string  `json:"key"`
	Value float64 `json:"value"`
	Time  int64   `json:"timestamp"` // milliseconds since 1970
	Step  int64   `json:"step"`
}

// Has reports whether a run has a metric at a step.
func (c *Client) Has(ctx context.Context, run, key string, step int64) (bool, error) {
	for page := ""; ; {
		var got struct {
			Metrics []struct {
				Step json.Number `json:"step"`
			} `json:"metrics"`
			Next string `json:"next_page_token"`
		}
		query := url.Values{"run_id": {run}, "metric_key": {key}, "max_results": {"1000"}}
		if page != "" {
			query.Set("page_token", page)
		}
		err := c.get(ctx, "metrics/get-history", query, &got)
		if err != nil {
			return false, err
		}
		for _, m := range got.Metrics {
			if n, err := m.Step.Int64(); err == nil && n == step {
				return true, nil
			}
		}
		if page = got.Next; page == "" {
			return false, nil
		}
	}
}

// Log adds metrics to a run.
func (c *Client) Log(ctx context.Context, run string, metrics []Metric) error {
	for len(metrics) > 0 {
		n := min(len(metrics), maxMetrics)
		if err := c.post(ctx, "runs/log-batch", map[string]any{"run_id": run, "metrics": metrics[:n]}, nil); err != nil {
			return err
		}
		metrics = metrics[n:]
	}
	return nil
}

// The states of a run.
const (
	Running  = "RUNNING"
	Finished = "FINISHED"
	Failed   = "FAILED"
	Killed   = "KILLED"
)

// SetStatus sets the state of a run.
func (c *Client) SetStatus(ctx context.Context, run, status string, ended time.Time) error {
	body := map[string]any{"run_id": run, "status": status}
	if status != Running {
		body["end_time"] = ended.UnixMilli()
	}
	return c.post(ctx, "runs/update", body, nil)
}
