// Package nemogym reads rollouts of NVIDIA NeMo Gym: the JSON lines of rollout
// collection, with tokens where a model server returned them, the failures file
// beside them, and the records of token capture.
//
// A file of token capture has the calls of a rollout, but neither their prompts'
// messages nor the reward: those are in another file, and files are imported one by
// one. So the calls become a trajectory of their own, with exact tokens. The
// rollout id joins them, wherever they are in the file, and each continues the call
// that it names, or else the call with whose tokens its prompt begins.
package nemogym

import (
	"errors"
	"regexp"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Importer reads the files of NeMo Gym.
var Importer = importers.Format{
	Name: "nemo-gym",
	Help: "rollouts and token capture of NVIDIA NeMo Gym, in JSON lines",
	Spec: "NVIDIA-NeMo/Gym: fern/versions/latest/pages/reference/trajectory-capabilities.mdx, " +
		"nemo_gym/rollout_collection.py and token_id_capture/records.py",
	Unscored:   regexp.MustCompile(`^reward$`),
	Extensions: []string{".jsonl"},
	Records:    cut,
	Parse:      parse,
}

func parse(r *importers.Record) ([]importers.Item, error) {
	data := value.JSON(r, r.Data)
	if data[0] == '[' {
		return []importers.Item{capture(data)}, nil
	}
	o := jsontext.ParseObject(data)
	switch {
	case o.Has("responses_create_params"):
		return []importers.Item{rollout(o)}, nil
	case o.Has("model_call_id") && o.Has("dialect"):
		return nil, errors.New("it is an exchange of model-call capture, which has no rollout: import the rollouts")
	case o.Has("model_call_id"):
		return nil, errors.New("it is a call of token capture without a rollout_id: nothing says which rollout it belongs to")
	}
	return nil, errors.New("it has no responses_create_params: it is not a rollout")
}
