package customizer

import (
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

// served deploys a trained model, one step per call, and reports the progress.
// A job whose model cannot be served was trained all the same.
func (t *Trainer) served(ctx context.Context, j *job, out backends.Outcome) (backends.Outcome, error) {
	out.Message = "the model is " + j.OutputModel
	if t.cfg.Deployment.Image != "" {
		state, failed, err := t.deployed(ctx, j)
		switch {
		case err != nil:
			return backends.Outcome{State: backends.JobUnknown, Job: j.ID}, err
		case failed:
			out.Message += "; its deployment failed: " + state
			return out, nil
		case state != "":
			out.State, out.Message = receipts.JobRunning, out.Message+"; it is being deployed: "+state
			return out, nil
		}
	}
	serves := t.cfg.Deployment.Image != "" || t.cfg.FinetuningType == "lora" // which the base model's NIM finds itself
	switch {
	case t.cfg.NIMURL == "":
		return out, nil
	case !serves:
		out.Message += "; no NIM serves it: --deployment-image"
		return out, nil
	}
	listed, err := t.listed(ctx, j.OutputModel)
	switch {
	case err != nil:
		return backends.Outcome{State: backends.JobUnknown, Job: j.ID}, err
	case !listed:
		out.State, out.Message = receipts.JobRunning, out.Message+"; the NIM does not list it yet"
		return out, nil
	}
	out.Policy = &receipts.Policy{URL: t.cfg.NIMURL + "/v1", Model: j.OutputModel, Version: j.version()}
	return out, nil
}

// listed asks the NIM whether it serves a model.
func (t *Trainer) listed(ctx context.Context, model string) (bool, error) {
	var list struct {
		Data []struct{ ID string } `json:"data"`
	}
	nim := &remote.Client{Name: "customizer", Secrets: []string{t.cfg.NIMKey}, Sign: bearer(t.cfg.NIMKey)}
	if err := nim.Get(ctx, t.cfg.NIMURL+"/v1/models", &list); err != nil {
		return false, err
	}
	return slices.Contains(list.Data, struct{ ID string }{model}), nil
}
