// Package starter writes the files of a first run: a config, examples, an agent, a
// reward and a Makefile, which run at once. The files lie in templates, as they are
// written; those outside the folders of agents are templates of package text/template.
//
// To add a way to write an agent, add a folder of templates and a line to kinds.
package starter

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/storage/fault"
)

//go:embed templates
var templates embed.FS

// Choices are what the files are written for.
type Choices struct {
	Agent   string // one of Agents
	Engine  string // Sandbox, or the URL of an OpenAI-compatible server
	Trainer string // one of TrainersOf the engine
	Model   string // that the engine serves, or that ART trains; not used with the sandbox
	Tasks   *Tasks // the user's own; nil for tasks of arithmetic
}

// Sandbox is the engine and the trainer for machines without a GPU.
const Sandbox = "sandbox"

// The other trainers.
const (
	art    = "art"
	files  = "files"
	tinker = "tinker"
)

// tinkerScheme begins the address of a Tinker service: tinker://HOST:PORT, or tinker:// for
// the one that the SDK knows.
const tinkerScheme = "tinker://"

// Service returns the URL of the Tinker service that is the engine; "" for the SDK's.
func (c Choices) Service() string {
	if host := strings.TrimPrefix(c.Engine, tinkerScheme); host != "" {
		return "http://" + host
	}
	return ""
}

// TrainersOf returns the trainers that fit an engine, the default first: the
// sandbox trains only its own policy, and answers as no other.
func TrainersOf(engine string) []string {
	switch {
	case engine == Sandbox:
		return []string{Sandbox, files}
	case strings.HasPrefix(engine, tinkerScheme):
		return []string{tinker}
	}
	return []string{files, art}
}

// Validate checks the choices.
func (c Choices) Validate() error {
	switch u, err := url.Parse(c.Engine); {
	case !slices.Contains(Agents, c.Agent):
		return usage("choose one of "+strings.Join(Agents, ", "), "agent %q", c.Agent)
	case c.Engine != Sandbox && c.Engine != tinkerScheme && (err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "tinker"}, u.Scheme)):
		return usage("write sandbox, a URL such as http://127.0.0.1:8000/v1, or tinker://", "engine %q", c.Engine)
	case !slices.Contains(TrainersOf(c.Engine), c.Trainer):
		return usage("with this engine choose one of "+strings.Join(TrainersOf(c.Engine), ", "),
			"trainer %q does not fit engine %q", c.Trainer, c.Engine)
	case c.Kind().Tasks != "" && (c.Tasks == nil || c.Engine == Sandbox):
		return usage("name the tasks with --from and an engine with --engine URL, as the sandbox's policy is too small for them",
			"agent %q attempts tasks of others", c.Agent)
	case c.Tasks != nil && strings.Contains(c.Tasks.URI, "$"):
		return usage("give the file a name without $", "--from %q", c.Tasks.URI)
	case strings.ContainsFunc(c.Model+c.Engine, func(r rune) bool { return r < ' ' || strings.ContainsRune(` "'#$`, r) }):
		return usage("write it without spaces, quotes, # and $", "engine %q, model %q", c.Engine, c.Model)
	}
	return nil
}

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
	for _, f := range made {
		if err := create(filepath.Join(folder, f.name), f.data); err != nil {
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
	return errors.Join(err, f.Close())
}

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
	return out, nil
}

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

func usage(hint, format string, args ...any) error {
	return fault.Errorf(fault.Usage, hint, "init: %w", fmt.Errorf(format, args...))
}
