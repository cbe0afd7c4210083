package customizer

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

// Submit uploads the batch and makes the job, once. It does not wait for the job: Status does.
func (t *Trainer) Submit(ctx context.Context, s backends.Submission, groups backends.Groups,
	event func(backends.JobEvent)) (backends.Outcome, error) {
	dataset, err := t.data(ctx, s, groups, event)
	if err != nil {
		return backends.Clean("no job was made"), err
	}
	body, err := t.body(s, dataset)
	if err != nil {
		return backends.Clean("no job was made"), err
	}
	j, out, err := t.jobs().Make(ctx, s, func() (*job, error) {
		q := remote.Request{Method: http.MethodPost, URL: t.at("customization/jobs"), JSON: body,
			Header: http.Header{remote.IdempotencyHeader: {s.Token}}}
		if t.cfg.WandBKey != "" &&
			slices.ContainsFunc(t.cfg.Integrations, func(i map[string]any) bool { return i["type"] == "wandb" }) {
			q.Header.Set("Wandb-Api-Key", t.cfg.WandBKey)
		}
		var made job
		_, err := t.entity.Do(ctx, q, &made)
		if err == nil && made.ID == "" {
			err = &remote.Error{What: "customizer: the answer that makes a job names none"}
		}
		return &made, err
	})
	if j == nil {
		return out, err
	}
	event(backends.JobEvent{Job: j.ID})
	out = backends.Outcome{State: receipts.JobPending, Job: j.ID}
	for _, w := range j.Warnings {
		out.Message = strings.TrimPrefix(fmt.Sprintf("%s; %v", out.Message, w), "; ")
	}
	return out, nil
}

// jobs finds a submission's job by its name and its fields.
func (t *Trainer) jobs() backends.Jobs[job] {
	return backends.Jobs[job]{Settle: t.cfg.Settle, Find: t.find,
		Outcome: func(ctx context.Context, j *job) (backends.Outcome, error) {
			out, err := t.Status(ctx, j.ID)
			out.Job = j.ID
			return out, err
		}}
}

func (t *Trainer) Resolve(ctx context.Context, s backends.Submission) (backends.Outcome, error) {
	return t.jobs().Resolve(ctx, s)
}

// find lists the jobs, newest first.
func (t *Trainer) find(ctx context.Context, token string) (found *job, err error) {
	err = each(ctx, t, t.at("customization/jobs")+"?sort=-created_at", func(j job) bool {
		if j.field(fieldToken) == token || j.Name == jobName(token) {
			found = &j
		}
		return found == nil
	})
	return found, err
}

// Cancel asks the service to cancel a job, which continues for a while.
func (t *Trainer) Cancel(ctx context.Context, id string) (backends.Outcome, error) {
	_, err := t.entity.Do(ctx, remote.Request{Method: http.MethodPost, URL: t.at("customization/jobs", id) + "/cancel"}, nil)
	// those: it has ended
	if code := remote.Status(err); err != nil && code != http.StatusBadRequest && code != http.StatusConflict &&
		code != http.StatusUnprocessableEntity {
		return backends.Outcome{State: backends.JobUnknown}, err
	}
	return t.Status(ctx, id)
}
