package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
)

// version is the version of the stage's semantics. Raise it when the same
// inputs give other rows.
const version = 2

// gateName is the name of the gate and of the setting with its limit.
const gateName = "max-failure-rate"

// spec returns the dataset's identity, which covers the tasks of all shards;
// extended is nil without --extend.
func (o Options) spec(all tasks, extended *dataset.Dataset) (dataset.Spec, error) {
	d := o.Agent.Describe()
	files, err := digestFiles(o.DependsOn)
	if err != nil {
		return dataset.Spec{}, err
	}
	maps.Copy(files, d.Files)
	examples, err := digestExamples(o.Examples, all)
	if err != nil {
		return dataset.Spec{}, err
	}
	fresh := Options{}.defaults()
	params := plugin.Identity(&o, &fresh)
	maps.Copy(params, map[string]any{"run": o.Run, "epoch": o.AtEpoch(),
		"agent": map[string]any{"kind": d.Kind, "params": d.Params}, "examples": examples})
	if o.Plan == nil {
		params["generations"] = o.Generations
	}
	if o.Policy != nil {
		params["policy_version"] = o.Policy.Version
	}
	if o.TargetModel != "" && o.TargetModel != o.Model {
		params["target_model"] = o.TargetModel
	}
	spec := dataset.Spec{
		Stage: stage, Version: version, Kind: formats.KindTrajectories, Params: params, Files: files,
		Gates: []dataset.Gate{{Name: gateName, Count: formats.StatusFailed, Of: "rows", Max: o.MaxFailureRate}},
	}
	if o.ExamplesRef.Digest != "" {
		spec.Inputs = []dataset.Ref{o.ExamplesRef}
	}
	if o.Plan != nil {
		spec.Inputs = append(spec.Inputs, o.Plan.d.Ref("plan", o.Out.URI))
	}
	if extended != nil {
		if n, known := extended.Params["generations"]; known {
			params["generations"] = n // of what extends nothing: curate plans by it
		}
		spec.Inputs = append(spec.Inputs, extended.Ref("base", o.Out.URI))
	}
	if _, err := json.Marshal(params); err != nil {
		return dataset.Spec{}, Usage("", "the agent's parameters: %w", err)
	}
	return spec, nil
}

func digestFiles(names []string) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range names {
		digest, err := DigestFile(name)
		if err != nil {
			return nil, Usage("--depends-on names files whose content decides the rows", "%w", err)
		}
		out[name] = digest
	}
	return out, nil
}

// DigestFile returns the content digest of a file, as identities hold it.
func DigestFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("reading %q: %w", name, cause(err))
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading %q: %w", name, cause(err))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// cause removes the path that an os error repeats.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// DigestWords returns the content digest of every file among a program's words:
// the program itself, found as a shell in dir would find it, and each word that
// names a regular file, as FILE or FILE:NAME. The content of folders is covered by --depends-on.
func DigestWords(dir string, words []string) (map[string]string, error) {
	out := map[string]string{}
	for i, word := range words {
		word = stages.WordFile(dir, word)
		name := word
		if dir != "" && !strings.HasPrefix(word, string(os.PathSeparator)) {
			name = dir + string(os.PathSeparator) + word
		}
		if i == 0 && !strings.ContainsRune(word, os.PathSeparator) {
			found, err := exec.LookPath(word)
			if err != nil && !errors.Is(err, exec.ErrDot) {
				return nil, fmt.Errorf("program %q: not found on the PATH", word)
			}
			name = found
		}
		info, err := os.Stat(name)
		switch {
		case i == 0 && err != nil:
			return nil, fmt.Errorf("program %q: %w", word, cause(err))
		case i == 0 && !info.Mode().IsRegular():
			return nil, fmt.Errorf("program %q is not a file", word)
		case err != nil || !info.Mode().IsRegular():
			continue
		}
		if out[word], err = DigestFile(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}
