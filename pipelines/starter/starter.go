// Package starter writes the files of a first run: a config, examples, an agent, a
// reward and a Makefile, which run at once. The files lie in templates, as they are
// written; those outside the folders of agents are templates of package text/template.
//
// To add a way to write an agent, add a folder of templates and a line to kinds.
package starter

import (
	"errors"
	"os"
	"path/filepath"
)

// Write writes the files into a folder, which it makes, and returns their names. It
// writes none if one of them is there.
func (c Choices) Write(folder string) ([]string, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	made, err := c.files()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range made {
		if _, err := os.Lstat(filepath.Join(folder, f.name)); err == nil {
			return nil, usage("name another folder: rollmill init FOLDER", "%q exists and is not replaced",
				filepath.Join(folder, f.name))
		}
		names = append(names, f.name)
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	for i, f := range made {
		if err := create(filepath.Join(folder, f.name), f.data); err != nil {
			for _, done := range made[:i] { // so that the same command can be run again
				os.Remove(filepath.Join(folder, done.name))
			}
			return nil, err
		}
	}
	return names, nil
}

// create writes a file that does not exist yet.
func create(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(name)
	}
	return err
}
