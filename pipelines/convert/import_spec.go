package convert

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

const stage = "import"

// version is that of the semantics: it changes when the same files and options give other rows, such as
// with the names of what is left out of logs.
const version = 3

// Validate returns an error of kind usage for options that exclude each other.
func (o *ImportOptions) Validate() error {
	fresh := ImportDefaults()
	o.GroupBy, o.Train = cmp.Or(o.GroupBy, fresh.GroupBy), cmp.Or(o.Train, fresh.Train)
	if len(o.Files) == 0 && !o.New {
		return fault.Errorf(fault.Usage, "name files, or a folder that holds some", "import: no file to read")
	}
	if o.Epoch != nil && (*o.Epoch < 0 || *o.Epoch > math.MaxInt32) {
		return fault.Errorf(fault.Usage, "epochs count from 0", "import: there is no epoch %d", *o.Epoch)
	}
	if err := cmp.Or(o.validateLog(), o.validateMerge(), o.validateNew()); err != nil {
		return err
	}
	known := make([]string, len(o.Format.Fields))
	for i, f := range o.Format.Fields {
		known[i] = f.Name
	}
	help := fmt.Sprintf("`rollmill help importer %s` describes its fields: %s", o.Format.Name, strings.Join(known, ", "))
	if len(known) == 0 {
		help = "the names in this format are fixed: leave --map out"
	}
	for name, to := range o.Fields {
		role := importers.IsRole(name) && slices.Contains(known, importers.RoleField.Name)
		if role && !slices.Contains(importers.Roles, to) {
			return fault.Errorf(fault.Usage, "roles are "+strings.Join(importers.Roles, ", "),
				"import: --map %s=%s names no role", name, to)
		}
		if !role && !slices.Contains(known, name) {
			return fault.Errorf(fault.Usage, plugin.Nearest(name, known, help),
				"import: the format %s has no field %q for --map", o.Format.Name, name)
		}
	}
	return o.Spill.Validate(stage)
}

// validateLog sets what is redacted and kept if the user does not say.
func (o *ImportOptions) validateLog() error {
	switch {
	case o.Format.Log && o.Redact == nil:
		o.Redact = redaction.Keys()
	case !o.Format.Log && o.Redact == redaction.None():
		o.Redact = nil
	}
	if len(o.Keep) > 0 && !o.Format.Log {
		return fault.Errorf(fault.Usage, "leave --keep-metadata out",
			"import: the format %s keeps all metadata: it is not that of a log", o.Format.Name)
	}
	o.Keep = slices.Compact(slices.Sorted(slices.Values(o.Keep)))
	return nil
}

// spec returns the identity of the dataset. It covers the bytes of every file.
func (o *ImportOptions) spec(ctx context.Context) (manifest.Spec, error) {
	fresh := ImportDefaults()
	params := plugin.Identity(o, &fresh)
	params["from"], params["run"] = o.Format.Name, o.Run
	if o.Format.Log {
		params["keep-metadata"] = append([]string{}, o.Keep...) // a manifest says so, also of none
	}
	if o.Epoch != nil {
		params["epoch"] = *o.Epoch
	}
	source := o.Source
	var err error
	if !o.New { // what is known of the objects takes its place
		if source.Digest, err = o.digest(ctx); err != nil {
			return manifest.Spec{}, err
		}
	}
	run, err := runroot.Open(ctx, cmp.Or(o.Root, runroot.Of(o.Out.URI)))
	if err != nil {
		return manifest.Spec{}, fmt.Errorf("import: giving the run its id: %w", err)
	}
	return manifest.Spec{Stage: stage, Version: version, Kind: schema.KindTrajectories, Params: params,
		Inputs: []manifest.Ref{source}, Run: run}, nil
}

// digest returns the SHA-256 over the names and the bytes of the files and of their companions.
func (o *ImportOptions) digest(ctx context.Context) (string, error) {
	all := sha256.New()
	for i := range o.Files {
		for _, f := range append([]File{o.Files[i]}, o.Files[i].Companions...) {
			sum := sha256.New()
			content, err := f.Open(ctx)
			if err == nil {
				_, err = io.CopyBuffer(sum, io.NewSectionReader(content, 0, content.Size()), make([]byte, 1<<20))
				err = errors.Join(err, content.Close())
			}
			if err != nil {
				return "", fmt.Errorf("import: reading %q: %w", f.URI, err)
			}
			fmt.Fprintf(all, "%q %x\n", f.Name, sum.Sum(nil))
		}
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}
