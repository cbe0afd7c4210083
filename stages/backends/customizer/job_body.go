package customizer

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/stages/backends"
)

// The keys of a job's custom fields. Values are strings.
const (
	fieldToken   = "rollmill"
	fieldVersion = "policy_version"
)

// job is a job as the service returns it; other fields are ignored.
type job struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	OutputModel string         `json:"output_model"`
	Custom      map[string]any `json:"custom_fields"`
	Warnings    []any          `json:"warnings"`
}

// jobName names a job after its submission, in characters that Kubernetes accepts.
func jobName(token string) string { return "rollmill-" + slug(token) }

// slug keeps the characters that a Kubernetes name may have.
func slug(text string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, text)
	return strings.Trim(out[max(0, len(out)-40):], "-") // the end of a token distinguishes rounds
}

func (t *Trainer) body(s backends.Submission, dataset string) (map[string]any, error) {
	hyper, err := t.cfg.hyperparameters()
	if err != nil {
		return nil, err
	}
	version := int64(1)
	if s.Before.Policy != nil {
		version = s.Before.Policy.Version + 1
	}
	body := map[string]any{
		"config": t.cfg.Config, "dataset": map[string]string{"name": dataset, "namespace": t.cfg.Namespace},
		"namespace": t.cfg.Namespace,
		"name":      jobName(s.Token), "description": fmt.Sprintf("rollmill: run %s, epoch %d", s.Run, s.Epoch),
		"output_model":    t.outputModel(s),
		"hyperparameters": hyper,
		"custom_fields": map[string]string{fieldToken: s.Token, "run": s.Run, "epoch": strconv.Itoa(s.Epoch),
			"curated_digest": s.Digest, fieldVersion: strconv.FormatInt(version, 10)},
	}
	if t.cfg.Project != "" {
		body["project"] = t.cfg.Project
	}
	if len(t.cfg.DatasetParameters) > 0 {
		body["dataset_parameters"] = t.cfg.DatasetParameters
	}
	if len(t.cfg.Integrations) > 0 {
		body["integrations"] = t.cfg.Integrations
	}
	return body, nil
}

// outputModel returns the name of the trained model. No two submissions share a name.
func (t *Trainer) outputModel(s backends.Submission) string {
	name := cmp.Or(t.cfg.OutputModel, t.cfg.Namespace+"/"+t.cfg.Dataset)
	if strings.Contains(name, "@") {
		return name
	}
	token := slug(s.Token)
	return fmt.Sprintf("%s@e%d-%s", name, s.Epoch, token[max(0, len(token)-16):])
}

func (j *job) field(name string) string {
	text, _ := j.Custom[name].(string)
	return text
}
