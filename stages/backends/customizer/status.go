package customizer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
)

// status is the progress of a job. Everything but Status may be null.
type status struct {
	Status  string   `json:"status"`
	Steps   *float64 `json:"steps_completed"`
	PerEp   *float64 `json:"steps_per_epoch"`
	Epochs  *float64 `json:"epochs_completed"`
	Percent *float64 `json:"percentage_done"`
	Best    *float64 `json:"best_epoch"`
	Train   *float64 `json:"train_loss"`
	Val     *float64 `json:"val_loss"`
	Metrics *struct {
		Metrics map[string][]struct {
			Step  *int64   `json:"step"`
			Value *float64 `json:"value"`
		} `json:"metrics"`
	} `json:"metrics"`
	Logs []entry `json:"status_logs"`
}

type entry struct {
	At      string  `json:"updated_at"`
	Message string  `json:"message"`
	Detail  *string `json:"detail"`
}

const noResources = "NotEnoughResources"

// Status returns the state of a job. If it completed, Status goes on to deploy
// the model, if that is configured: until then the job counts as running.
func (t *Trainer) Status(ctx context.Context, id string) (backends.Outcome, error) {
	var s status
	if err := t.entity.Get(ctx, t.at("customization/jobs", id)+"/status", &s); err != nil {
		return backends.Outcome{State: backends.JobUnknown}, err
	}
	out := s.outcome()
	out.Job = id
	if out.State != receipts.JobCompleted {
		return out, nil
	}
	var j job
	if err := t.entity.Get(ctx, t.at("customization/jobs", id), &j); err != nil {
		return backends.Outcome{State: backends.JobUnknown}, err
	}
	if j.OutputModel == "" {
		out.State, out.Message = receipts.JobRunning, "completed, but names no model yet"
		return out, nil
	}
	return t.served(ctx, &j, out)
}

// outcome converts a job's status. Only the status decides: a job may fail at
// 100 %, and complete at less.
func (s *status) outcome() backends.Outcome {
	out := backends.Outcome{Metrics: map[string]float64{}, MetricSteps: s.steps()}
	for name, v := range map[string]*float64{"steps_completed": s.Steps, "steps_per_epoch": s.PerEp,
		"epochs_completed": s.Epochs,
		"percentage_done":  s.Percent, "best_epoch": s.Best, "train_loss": s.Train, "val_loss": s.Val} {
		if v != nil {
			out.Metrics[name] = *v
		}
	}
	message, detail := s.newest()
	switch s.Status {
	case "created", "pending":
		if out.State, out.Message = receipts.JobPending, s.Status; message == noResources {
			out.Message = s.Status + ": " + noResources + ": it will not start until there are more"
		}
	case "running", "cancelling":
		out.State, out.Message = receipts.JobRunning, s.Status
		if s.Percent != nil {
			out.Message = fmt.Sprintf("%s, %.0f %%", s.Status, *s.Percent)
		}
	case "completed", "ready":
		out.State = receipts.JobCompleted
	case "failed":
		if out.State, out.Message = receipts.JobFailed, detail; detail == "" {
			out.Message = message
		}
	case "cancelled", "canceled":
		out.State, out.Message = receipts.JobCancelled, "a cancelled job leaves no checkpoint"
	default:
		out.State, out.UnknownState, out.Message = receipts.JobRunning, true, fmt.Sprintf("the service says %q, which is no "+
			"known state", s.Status)
	}
	return out
}

func (s *status) newest() (message, detail string) {
	logs := slices.Clone(s.Logs)
	slices.SortStableFunc(logs, func(a, b entry) int { return strings.Compare(a.At, b.At) })
	for _, l := range slices.Backward(logs) {
		message = cmp.Or(message, l.Message)
		if detail == "" && l.Detail != nil {
			detail = *l.Detail
		}
	}
	return message, detail
}

// steps returns the metrics by step, oldest first.
func (s *status) steps() (out []json.RawMessage) {
	if s.Metrics == nil {
		return nil
	}
	rows := map[int64]map[string]any{}
	for name, values := range s.Metrics.Metrics {
		for _, v := range values {
			if v.Step == nil || v.Value == nil {
				continue
			}
			if rows[*v.Step] == nil {
				rows[*v.Step] = map[string]any{"step": *v.Step}
			}
			rows[*v.Step][name] = *v.Value
		}
	}
	for _, step := range slices.Sorted(maps.Keys(rows)) {
		if line, err := json.Marshal(rows[step]); err == nil {
			out = append(out, line)
		}
	}
	return out
}

func (j *job) version() int64 {
	if v, err := strconv.ParseInt(j.field(fieldVersion), 10, 64); err == nil {
		return v
	}
	return 1
}
