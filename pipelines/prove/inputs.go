package prove

import (
	"context"
	"encoding/json"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// inputs opens the datasets that a manifest names, and returns them by role.
func inputs(ctx context.Context, d *dataset.Dataset) (map[string][]stages.Input, error) {
	out := map[string][]stages.Input{}
	for _, r := range d.Inputs {
		if r.Identity == "" && r.Role == "holdout" {
			uri := runroot.Resolve(d.Address, r.URI)
			file, digest, err := storage.OpenFile(ctx, uri)
			if err != nil {
				return nil, err
			}
			if _ = file.Close(); digest != r.Digest {
				return nil, fault.Invalid(storage.Redact(uri), "", nil, "it has changed since it was held out")
			}
			out[r.Role] = append(out[r.Role], stages.Input{URI: uri})
		}
		if r.Identity == "" {
			continue // a file
		}
		in, err := d.OpenRef(ctx, r)
		if err != nil {
			return nil, err
		}
		if err := dataset.Verify(ctx, in); err != nil {
			return nil, err
		}
		var gates []string
		for _, g := range in.Gates {
			gates = append(gates, g.Name)
		}
		out[r.Role] = append(out[r.Role], stages.Input{URI: in.URI(), AcceptGates: gates})
	}
	if len(out["base"]) == 0 {
		return nil, fault.Invalid(d.URI(), "", nil, "its manifest names no dataset that it was made from")
	}
	return out, nil
}

func first(list []stages.Input) stages.Input { return append(list, stages.Input{})[0] }

// restore sets the settings that decide rows, and the rollouts that curate holds out.
func restore(s plugin.Settings, params map[string]any, holdout ...stages.Input) error {
	if err := plugin.Restore(s, params); err != nil {
		return err
	}
	for _, x := range plugin.Declared(s) {
		if x.Name != "holdout" || len(holdout) == 0 {
			continue
		}
		var uris []string
		for _, in := range holdout {
			uris = append(uris, in.URI)
		}
		return x.Set(uris...)
	}
	return nil
}

// filled sets to from the JSON of from.
func filled(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return decode(data, to)
}
