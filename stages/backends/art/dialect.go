package art

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

// dialect is what a server can do, read from its own list of routes.
type dialect struct {
	Train     bool // it can be told to train
	Frontend  bool // 0.5.8 to 0.5.17: the client keeps the metrics
	Choices   bool // a choice arrives as a choice: up to 0.5.1
	Histories bool // it knows additional histories: from 0.4
}

// trainable detects the dialect of a server that can train as asked.
func (t *Trainer) trainable(ctx context.Context) (dialect, error) {
	d, err := t.detect(ctx)
	if err == nil {
		textAlone, _ := t.cfg.DevConfig["allow_training_without_logprobs"].(bool)
		err = d.refuse(t.base, textAlone)
	}
	return d, err
}

// detect checks the health route, then reads the route list; if that is
// switched off, it tries the routes.
func (t *Trainer) detect(ctx context.Context) (dialect, error) {
	if err := t.get(ctx, t.base+"/healthcheck", "", nil); err != nil {
		return dialect{}, err
	}
	var api struct {
		Paths      map[string]json.RawMessage `json:"paths"`
		Components struct {
			Schemas map[string]struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	err := t.get(ctx, t.base+"/openapi.json", "", &api)
	if remote.Status(err) != 0 || err == nil && len(api.Paths) == 0 {
		return t.probe(ctx)
	}
	if err != nil {
		return dialect{}, err
	}
	has := func(path string) bool { _, ok := api.Paths[path]; return ok }
	d := dialect{Train: has("/_train_model"), Frontend: !has("/_log") || has("/_delete_checkpoint_files"), Choices: true}
	for name, schema := range api.Components.Schemas {
		if name != "Trajectory" && !strings.HasPrefix(name, "Trajectory-") {
			continue
		}
		_, d.Histories = schema.Properties["additional_histories"]
		_, auto := schema.Properties["auto_metrics"]
		_, versions := schema.Properties["initial_policy_version"]
		d.Choices = !auto && !versions
	}
	return d, nil
}

// probe posts an empty object to each route: a missing one answers 404, an
// existing one refuses the object. It cannot detect the fields of the types.
func (t *Trainer) probe(ctx context.Context) (dialect, error) {
	d := dialect{Choices: true}
	for path, found := range map[string]*bool{"/_train_model": &d.Train, "/_delete_checkpoint_files": &d.Frontend} {
		err := t.call(ctx, quick, path, struct{}{}, nil)
		if err != nil && remote.Status(err) == 0 {
			return d, err
		}
		*found = remote.Status(err) != http.StatusNotFound && remote.Status(err) != http.StatusMethodNotAllowed
	}
	return d, nil
}

// plain reports whether only plain messages reach the trainer.
func (d dialect) plain() bool { return d.Frontend || !d.Choices }

// refuse returns an error for a server that cannot train, or only in a way that
// was not asked for.
func (d dialect) refuse(base string, textAlone bool) error {
	const (
		serve = "run the server from openpipe-art[backend]==0.4.11 (with vllm==0.9.2), or call the library in process: " +
			"--backend command --trainer 'python -m rollmill.art JOBS'"
		orPlain = "; to train on the text alone, tokenized again and without what was sampled: --dev-config " +
			"allow_training_without_logprobs=true"
	)
	switch {
	case !d.Train:
		return &Error{What: fmt.Sprintf("ART at %q cannot be told to train: it has no route /_train_model (ART 0.5.18 and "+
			"later, or not an ART server)", base), Help: serve}
	case textAlone && d.plain():
		return nil
	case d.Frontend:
		return &Error{What: fmt.Sprintf("ART at %q speaks the frontend dialect (0.5.8 to 0.5.17), which drops the token "+
			"ids and logprobs that it is sent", base), Help: serve + orPlain}
	case !d.Choices:
		return &Error{What: fmt.Sprintf("ART at %q is of a version (0.5.2 to 0.5.7) that drops the token ids and logprobs "+
			"that it is sent", base), Help: serve + orPlain}
	}
	return nil
}

// policyModels returns the names under which the inference server may know the
// policy, the most likely first: from 0.5.10 on the step is part of it.
func (d dialect) policyModels(name string, step int64) []string {
	if d.Frontend {
		return []string{fmt.Sprintf("%s@%d", name, step), name}
	}
	return []string{name}
}

// stepped returns a policy's name after another step.
func stepped(model string, step int64) string {
	if bare, _, found := strings.Cut(model, "@"); found {
		return fmt.Sprintf("%s@%d", bare, step)
	}
	return model
}
