package harbor

import (
	"cmp"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"github.com/rollmill/rollmill/formats"
)

// manifest is Harbor's list of the tasks in a dataset, dataset.toml.
type manifest struct {
	Dataset *named      `toml:"dataset,omitempty"`
	Tasks   []taskFiles `toml:"tasks"`
}

type named struct {
	Name string `toml:"name"` // org/name
}

// taskFiles are the files of a task in one version.
type taskFiles struct {
	Name   string `toml:"name"`
	Digest string `toml:"digest"` // sha256: and hex
}

func digestOf(hex string) string { return "sha256:" + hex }

// listed returns the folders of the tasks in a manifest, which are below its own folder.
// One that is not there, or has other files than the manifest says, is an error.
func listed(file string) (out []string, err error) {
	var m manifest
	if _, err := toml.DecodeFile(file, &m); err != nil {
		return nil, formats.Invalid(file, "name a folder of tasks, or a dataset.toml", err, "not the TOML of a dataset")
	}
	folders, err := below(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	of := map[string][]string{} // the folders of each task
	for _, dir := range folders {
		var c struct{ Task named }
		file := filepath.Join(dir, "task.toml")
		if _, err := toml.DecodeFile(file, &c); err != nil {
			return nil, formats.Invalid(file, "", err, "not the TOML of a task")
		}
		name := cmp.Or(c.Task.Name, filepath.Base(dir))
		of[name] = append(of[name], dir)
	}
	for _, t := range m.Tasks {
		dir, err := t.among(of[t.Name], file)
		if err != nil {
			return nil, err
		}
		out = append(out, dir)
	}
	return out, nil
}

// among returns the first of a task's folders with the files that a manifest lists.
func (t taskFiles) among(folders []string, manifest string) (string, error) {
	for _, dir := range folders {
		sum, err := digest(dir)
		if err != nil || digestOf(sum) == t.Digest {
			return dir, err
		}
	}
	if len(folders) == 0 {
		return "", formats.Invalid(manifest, "put the task there, or take it out of the manifest", nil,
			"no folder beside the manifest has the task %q", t.Name)
	}
	return "", formats.Invalid(manifest, "restore its files, or update the manifest with `harbor sync`", nil,
		"the files of task %q in %s do not have the digest %q", t.Name, folders[0], t.Digest)
}
