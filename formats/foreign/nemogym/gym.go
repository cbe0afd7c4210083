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
	"bytes"
	"errors"
	"regexp"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage/fault"
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

// maxHeld bounds the memory for rollouts of which calls are still to come.
// Tests reduce it.
var maxHeld = importers.MaxDocument

// cut makes one record of a rollout: of a line, or of all lines of token capture
// with one rollout id, at the last of them. For these the file is read twice:
// first to count the calls of each rollout, so that a rollout is held no longer
// than its lines need.
func cut(f importers.File, yield func(importers.Record) bool) error {
	var calls map[string]int // to come, by rollout
	open, held, n := map[string]*importers.Record{}, 0, int64(0)
	for r, err := range importers.Rows.All(f) {
		if err != nil {
			return err
		}
		if id := captured(r.Data); id != "" {
			if calls == nil {
				if calls, err = count(f); err != nil {
					return err
				}
			}
			rollout := open[id]
			if rollout == nil {
				rollout = &importers.Record{Line: r.Line, Options: r.Options}
				open[id] = rollout
			}
			rollout.Data = append(append(rollout.Data, "[,"[min(len(rollout.Data), 1)]), r.Data...)
			if held += 1 + len(r.Data); held > maxHeld {
				return fault.Invalid(f.Name, "sort its lines by rollout_id, or split the file by it", nil,
					"rollouts of which calls are still to come have more than %d MiB", maxHeld>>20)
			}
			if calls[id]--; calls[id] > 0 {
				continue
			}
			delete(open, id)
			r, held = *rollout, held-len(rollout.Data)
			r.Data = append(r.Data, ']')
		}
		r.Row = n
		n++
		if !yield(r) {
			break
		}
	}
	return nil
}

// count returns the number of calls of each rollout that the lines of token
// capture have.
func count(f importers.File) (map[string]int, error) {
	calls := map[string]int{}
	return calls, importers.Rows(f, func(r importers.Record) bool {
		if id := captured(r.Data); id != "" {
			calls[id]++
		}
		return true
	})
}

// captured returns the rollout id of a line of token capture, "" for any other.
func captured(line []byte) string {
	if !bytes.Contains(line, []byte(`"model_call_id"`)) || !bytes.Contains(line, []byte(`"rollout_id"`)) ||
		!jsontext.Valid(line) {
		return ""
	}
	id := ""
	for key, v := range jsontext.Members(line) {
		switch string(key) {
		case "rollout_id":
			id = jsontext.Unquote(v)
		case "responses_create_params":
			return ""
		}
	}
	return id
}
