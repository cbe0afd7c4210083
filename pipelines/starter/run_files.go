package starter

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v4"
)

//go:embed templates
var templates embed.FS

type file struct {
	name string
	data []byte
}

// files returns the files for the choices.
func (c Choices) files() ([]file, error) {
	sources := []string{"rollmill.yaml", "Makefile"} // in templates
	if c.Tasks == nil {
		sources = append(sources, "examples.jsonl")
	}
	if c.Kind().Reward == pythonReward {
		sources = append(sources, "reward.py")
	}
	programs, err := templates.ReadDir(path.Join("templates", c.Agent))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a prompt has no program
		return nil, err
	}
	for _, p := range programs {
		if p.Name() == "reward.sh" && c.Tasks != nil { // it knows the tasks of arithmetic alone
			continue
		}
		sources = append(sources, c.Agent+"/"+p.Name())
	}
	var out []file
	for _, s := range sources {
		data, err := templates.ReadFile("templates/" + s)
		if err == nil && !strings.Contains(s, "/") {
			data, err = c.filled(s, string(data))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		out = append(out, file{path.Base(s), data})
	}
	return append(out, file{schemaFile, []byte(c.Schema)}), nil
}

// schemaFile is named in the first line of the config.
const schemaFile = "rollmill.schema.json"

func (c Choices) filled(name, text string) ([]byte, error) {
	t, err := template.New(name).Option("missingkey=error").Funcs(template.FuncMap{"yaml": quoted, "python": strconv.Quote}).Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, c)
	return b.Bytes(), err
}

// quoted returns a text as a value of YAML.
func quoted(text string) (string, error) {
	data, err := yaml.Marshal(text)
	return strings.TrimSuffix(string(data), "\n"), err
}
