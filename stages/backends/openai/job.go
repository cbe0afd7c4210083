package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

// The keys of a job's metadata. Values are strings.
const (
	metaToken   = "rollmill"
	metaVersion = "policy_version"
)

// Submit uploads the batch, waits until its files are processed and makes the
// job, once. It does not wait for the job: Status does.
func (t *Trainer) Submit(ctx context.Context, s backends.Submission, groups backends.Groups,
	event func(backends.JobEvent)) (backends.Outcome, error) {
	training, err := t.upload(ctx, s, false, groups, event)
	if err != nil {
		return backends.Clean("no job was made"), err
	}
	request := t.request(s, training)
	if t.cfg.Validation > 0 {
		if request["validation_file"], err = t.upload(ctx, s, true, groups, nil); err != nil {
			return backends.Clean("no job was made"), err
		}
	}
	j, out, err := t.jobs().Make(ctx, s, func() (*job, error) {
		var made job
		err := t.post(ctx, "/fine_tuning/jobs", http.Header{remote.IdempotencyHeader: {s.Token}}, request, &made)
		if err == nil && made.ID == "" {
			err = &remote.Error{What: "openai: the answer that makes a job names none"}
		}
		return &made, err
	})
	if j == nil {
		return out, err
	}
	event(backends.JobEvent{Job: j.ID})
	return t.outcome(j), nil
}

// jobs finds a submission's job by its token and by its file.
func (t *Trainer) jobs() backends.Jobs[job] {
	outcome := func(_ context.Context, j *job) (backends.Outcome, error) { return t.outcome(j), nil }
	return backends.Jobs[job]{Settle: t.cfg.Settle, Find: t.find, Outcome: outcome}
}

// request returns the request for a job that trains on a file.
func (t *Trainer) request(s backends.Submission, training string) map[string]any {
	version := int64(1)
	if s.Before.Policy != nil {
		version = s.Before.Policy.Version + 1
	}
	method := map[string]any{}
	hyper := map[string]any{}
	for name, v := range t.cfg.Hyperparameters {
		if t.cfg.Azure && (name == "beta" || name == "l2_multiplier") {
			method[name] = v
		} else {
			hyper[name] = v
		}
	}
	if len(hyper) > 0 {
		method["hyperparameters"] = hyper
	}
	request := map[string]any{
		"model":         t.cfg.Model,
		"training_file": training,
		"method":        map[string]any{"type": t.cfg.Method, t.cfg.Method: method},
		"metadata": map[string]string{metaToken: s.Token, "run": short(s.Run), "epoch": strconv.Itoa(s.Epoch),
			metaVersion: strconv.FormatInt(version, 10)},
	}
	if t.cfg.Suffix != "" {
		request["suffix"] = t.cfg.Suffix
	}
	if t.cfg.Seed != nil {
		request["seed"] = *t.cfg.Seed
	}
	return request
}

// short truncates a metadata value to 512 characters.
func short(s string) string {
	if len(s) > 512 {
		return strings.ToValidUTF8(s[:512], "")
	}
	return s
}

// fileName names a file after its submission, which is found by it.
func fileName(token string, held bool) string {
	if held {
		return "rollmill-" + token + "-validation.jsonl"
	}
	return "rollmill-" + token + "-training.jsonl"
}

type fileObject struct {
	ID       string          `json:"id"`
	Filename string          `json:"filename"`
	Status   string          `json:"status"`
	Details  json.RawMessage `json:"status_details"`
}

// upload streams one file, after a pass that counts its length, and waits until
// it is processed, if the service reports that.
func (t *Trainer) upload(ctx context.Context, s backends.Submission, held bool, groups backends.Groups,
	event func(backends.JobEvent)) (string, error) {
	var size counter
	if err := t.lines(&size, held, s.Guarded(groups, nil)); err != nil {
		return "", err
	}
	f, err := t.send(ctx, fileName(s.Token, held), int64(size), func(w io.Writer) error {
		return t.lines(w, held,
			s.Guarded(groups, event))
	})
	if err != nil {
		return "", err
	}
	return f.ID, t.processed(ctx, f)
}

// send streams a file.
func (t *Trainer) send(ctx context.Context, name string, size int64, content func(io.Writer) error) (f fileObject,
	err error) {
	var around bytes.Buffer // what is before the content, and after it
	form := multipart.NewWriter(&around)
	_ = form.WriteField("purpose", "fine-tune")
	_, _ = form.CreateFormFile("file", name)
	before := around.Len()
	_ = form.Close()
	read, write := io.Pipe()
	defer read.Close()
	failed := make(chan error, 1)
	go func() {
		err := content(write)
		failed <- err
		write.CloseWithError(err)
	}()
	body := io.MultiReader(bytes.NewReader(around.Bytes()[:before]), read, bytes.NewReader(around.Bytes()[before:]))
	_, err = t.web().Do(ctx, remote.Request{Method: http.MethodPost, URL: t.url("/files"), Body: body, Size: size + int64(around.Len()),
		Type: form.FormDataContentType()}, &f)
	read.CloseWithError(io.ErrClosedPipe)
	if ours := <-failed; ours != nil && !errors.Is(ours, io.ErrClosedPipe) {
		return f, ours
	}
	return f, err
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func (t *Trainer) processed(ctx context.Context, f fileObject) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.cfg.FileTimeout,
		&remote.Error{What: fmt.Sprintf("openai: the file %q was not processed within %s", f.ID, t.cfg.FileTimeout),
			Retry: true})
	defer cancel()
	for {
		switch f.Status {
		case "", "processed", "succeeded":
			return nil
		case "error", "failed", "deleted":
			return &remote.Error{What: fmt.Sprintf("openai: the file %q: %s: %s", f.ID, f.Status, f.Details)}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(t.cfg.Poll):
		}
		now := fileObject{ID: f.ID}
		if err := t.get(ctx, "/files/"+url.PathEscape(f.ID), &now); err != nil {
			return err
		}
		f = now
	}
}

// job is a job as the service returns it; other fields are ignored.
type job struct {
	ID             string            `json:"id"`
	Status         string            `json:"status"`
	FineTunedModel string            `json:"fine_tuned_model"`
	TrainingFile   string            `json:"training_file"`
	TrainedTokens  float64           `json:"trained_tokens"`
	ResultFiles    []string          `json:"result_files"`
	Metadata       map[string]string `json:"metadata"`
	Error          *struct {
		Code    json.RawMessage `json:"code"` // text, a number or null
		Message string          `json:"message"`
	} `json:"error"`
}

func (t *Trainer) Resolve(ctx context.Context, s backends.Submission) (backends.Outcome, error) {
	return t.jobs().Resolve(ctx, s)
}

// find lists all jobs: not every service filters by metadata, or stores it.
func (t *Trainer) find(ctx context.Context, token string) (*job, error) {
	files := map[string]bool{}
	err := list(ctx, t, "/files?purpose=fine-tune&limit=1000", func(f fileObject) (string, bool) {
		if f.Filename == fileName(token, false) {
			files[f.ID] = true
		}
		return f.ID, true
	})
	if err != nil {
		return nil, err
	}
	var found *job
	err = list(ctx, t, "/fine_tuning/jobs?limit=100", func(j job) (string, bool) {
		if j.Metadata[metaToken] == token || files[j.TrainingFile] {
			found = &j
		}
		return j.ID, found == nil
	})
	return found, err
}

// list reads the pages of a list until f has seen enough.
func list[T any](ctx context.Context, t *Trainer, path string, f func(T) (id string, more bool)) error {
	after := ""
	for {
		var page struct {
			Data    []T  `json:"data"`
			HasMore bool `json:"has_more"`
		}
		at := path
		if after != "" {
			at += "&after=" + url.QueryEscape(after)
		}
		if err := t.get(ctx, at, &page); err != nil {
			return err
		}
		last := after
		for _, one := range page.Data {
			id, more := f(one)
			if last = id; !more {
				return nil
			}
		}
		if !page.HasMore || len(page.Data) == 0 || last == after {
			return nil
		}
		after = last
	}
}

func jobPath(id string) string { return "/fine_tuning/jobs/" + url.PathEscape(id) }

// Status returns the state of a job; for one that has ended, also its checkpoints' metrics.
func (t *Trainer) Status(ctx context.Context, id string) (backends.Outcome, error) {
	var j job
	if err := t.get(ctx, jobPath(id), &j); err != nil {
		return backends.Outcome{State: backends.JobUnknown}, err
	}
	out := t.outcome(&j)
	if out.State == receipts.JobRunning || out.State == receipts.JobPending {
		out.Message = strings.TrimPrefix(out.Message+"; "+t.newest(ctx, id), "; ")
		return out, nil
	}
	t.addCheckpoints(ctx, id, &out)
	return out, nil
}

// newest returns the service's latest event of a job; errors are ignored.
func (t *Trainer) newest(ctx context.Context, id string) string {
	var page openai.FineTuningJobEventList
	if err := t.get(ctx, jobPath(id)+"/events?limit=1", &page); err != nil || len(page.Data) == 0 {
		return ""
	}
	return page.Data[0].Message
}

// addCheckpoints adds the metrics of the checkpoints, oldest first; errors are ignored.
func (t *Trainer) addCheckpoints(ctx context.Context, id string, out *backends.Outcome) {
	type checkpoint struct {
		ID      string          `json:"id"`
		Step    int64           `json:"step_number"`
		Model   string          `json:"fine_tuned_model_checkpoint"`
		Metrics json.RawMessage `json:"metrics"`
	}
	var all []checkpoint
	if list(ctx, t, jobPath(id)+"/checkpoints?limit=10", func(c checkpoint) (string, bool) {
		all = append(all, c)
		return c.ID, len(all) < 1000
	}) != nil || len(all) == 0 {
		return
	}
	for i := range all {
		c := all[len(all)-1-i]
		line, err := json.Marshal(map[string]any{"step": c.Step, "model": c.Model, "metrics": c.Metrics})
		if err == nil {
			out.MetricSteps = append(out.MetricSteps, line)
		}
	}
	var last map[string]any
	if json.Unmarshal(all[0].Metrics, &last) == nil {
		for name, v := range last {
			if n, ok := v.(float64); ok {
				out.Metrics[name] = n
			}
		}
	}
}

func (t *Trainer) Cancel(ctx context.Context, id string) (backends.Outcome, error) {
	var j job
	err := t.post(ctx, jobPath(id)+"/cancel", nil, map[string]any{}, &j)
	code := remote.Status(err)
	switch {
	// it may have ended already
	case code == http.StatusBadRequest || code == http.StatusConflict || j.Status == "succeeded" || j.Status == "failed":
		return t.Status(ctx, id)
	case err != nil:
		return backends.Outcome{State: backends.JobUnknown}, err
	}
	return t.outcome(&j), nil
}

func (t *Trainer) outcome(j *job) backends.Outcome {
	out := backends.Outcome{Job: j.ID, Metrics: map[string]float64{}, Files: j.ResultFiles, Message: j.failure()}
	if j.TrainedTokens > 0 {
		out.Metrics["trained_tokens"] = j.TrainedTokens
	}
	switch j.Status {
	case "validating_files", "queued", "created", "pending", "paused":
		out.State, out.Message = receipts.JobPending, j.Status
	case "running":
		out.State = receipts.JobRunning
	case "succeeded":
		if j.FineTunedModel == "" {
			out.State, out.Message = receipts.JobRunning, "succeeded, but names no model yet"
			return out
		}
		out.State = receipts.JobCompleted
		out.Policy = &receipts.Policy{URL: t.cfg.BaseURL, Model: j.FineTunedModel, Version: 1}
		if v, err := strconv.ParseInt(j.Metadata[metaVersion], 10, 64); err == nil {
			out.Policy.Version = v
		}
	case "failed":
		out.State = receipts.JobFailed
	case "cancelled", "canceled":
		out.State = receipts.JobCancelled
	default:
		out.UnknownState = true
		out.State, out.Message = receipts.JobRunning, fmt.Sprintf("the service says %q, which is no known state", j.Status)
	}
	return out
}

// failure returns the service's reason; an empty object means none.
func (j *job) failure() string {
	if j.Error == nil {
		return ""
	}
	code := strings.Trim(string(j.Error.Code), `"`)
	if code == "null" {
		code = ""
	}
	return strings.Trim(code+": "+j.Error.Message, ": ")
}
