package art

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// dialect is what a server can do, read from its own list of routes.
type dialect struct {
	Train     bool // it can be told to train
	Frontend  bool // 0.5.8 to 0.5.17: the client keeps the books
	Choices   bool // a choice arrives as one: up to 0.5.1
	Histories bool // it knows additional histories: from 0.4
}

// detect asks for health, then reads the route list; where that is switched
// off, it tries the routes.
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
	if status(err) != 0 || err == nil && len(api.Paths) == 0 {
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

// probe posts an empty object to each route: one that is missing answers 404,
// one that is there refuses the object. It cannot tell what the types hold.
func (t *Trainer) probe(ctx context.Context) (dialect, error) {
	d := dialect{Choices: true}
	for path, found := range map[string]*bool{"/_train_model": &d.Train, "/_delete_checkpoint_files": &d.Frontend} {
		err := t.call(ctx, quick, path, struct{}{}, nil)
		if err != nil && status(err) == 0 {
			return d, err
		}
		*found = status(err) != http.StatusNotFound && status(err) != http.StatusMethodNotAllowed
	}
	return d, nil
}

// refuse names a server that cannot be trained on.
func (d dialect) refuse(base string) error {
	const hint = "run the server from openpipe-art[backend]==0.4.11 (with vllm==0.9.2); later ones cannot be trained over HTTP"
	switch {
	case !d.Train:
		return &Error{What: fmt.Sprintf("ART at %q cannot be told to train: it has no route /_train_model (ART 0.5.18 and later, or not an ART server)", base), Help: hint}
	case d.Frontend:
		return &Error{What: fmt.Sprintf("ART at %q speaks the frontend dialect (0.5.8 to 0.5.17), which drops the token ids and logprobs that it is sent", base), Help: hint}
	case !d.Choices:
		return &Error{What: fmt.Sprintf("ART at %q is of a version (0.5.2 to 0.5.7) that drops the token ids and logprobs that it is sent", base), Help: hint}
	}
	return nil
}

// policyModel is the name under which the inference server knows the policy.
func (d dialect) policyModel(name string, step int64) string {
	if d.Frontend {
		return fmt.Sprintf("%s@%d", name, step)
	}
	return name
}
