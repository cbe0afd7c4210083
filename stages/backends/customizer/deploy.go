package customizer

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

// deployed starts the deployment of a job's model unless it exists, and returns
// its state: "" when it is ready.
func (t *Trainer) deployed(ctx context.Context, j *job) (state string, failed bool, err error) {
	mark := slug(j.ID)
	name := t.cfg.Deployment.Name + "-" + mark[max(0, len(mark)-22):] // 63 letters at most
	at := t.at("deployment/model-deployments", t.cfg.Namespace, name)
	var d struct {
		Details struct{ Status, Description string } `json:"status_details"`
	}
	err = t.entity.Get(ctx, at, &d)
	if remote.Status(err) == http.StatusNotFound {
		if err := t.deploy(ctx, name, j.OutputModel); err != nil {
			return "", false, err
		}
		return "requested", false, nil
	}
	if err != nil {
		return "", false, err
	}
	switch word := strings.ToLower(d.Details.Status); word {
	case "ready", "deployed":
		return "", false, nil
	case "failed", "error", "cancelled", "canceled":
		return strings.Trim(word+": "+d.Details.Description, ": "), true, nil
	default:
		return strings.Trim(word+": "+d.Details.Description, ": "), false, nil
	}
}

func (t *Trainer) deploy(ctx context.Context, name, model string) error {
	image := t.cfg.Deployment.Image
	tag := strings.LastIndex(image, ":") // validate requires one
	nim := map[string]any{"image_name": image[:tag], "image_tag": image[tag+1:], "gpu": t.cfg.Deployment.GPUs}
	if len(t.cfg.Deployment.Env) > 0 {
		nim["additional_envs"] = t.cfg.Deployment.Env
	}
	if t.cfg.Deployment.PVC != "" {
		nim["pvc_size"] = t.cfg.Deployment.PVC
	}
	config := map[string]any{"name": name, "namespace": t.cfg.Namespace, "model": model, "description": "rollmill",
		"nim_deployment": nim}
	if err := t.entity.Post(ctx, t.at("deployment/configs"), config, nil); err != nil {
		if !remote.Unsure(err) {
			return err
		}
		var there struct {
			Model string `json:"model"`
		}
		if look := t.entity.Get(ctx, t.at("deployment/configs", t.cfg.Namespace, name), &there); look != nil {
			return err
		}
		if there.Model != model {
			return &remote.Error{What: fmt.Sprintf("customizer: the deployment configuration %q is of the model %q, not %q",
				name, there.Model, model), Help: "another name: --deployment-name"}
		}
	}
	body := map[string]any{"name": name, "namespace": t.cfg.Namespace, "config": t.cfg.Namespace + "/" + name,
		"description": "rollmill"}
	if t.cfg.Project != "" {
		body["project"] = t.cfg.Project
	}
	err := t.entity.Post(ctx, t.at("deployment/model-deployments"), body, nil)
	// said with a 500
	if remote.Status(err) == http.StatusConflict || err != nil && strings.Contains(err.Error(), "already exists") {
		return nil
	}
	return err
}
