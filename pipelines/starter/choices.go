package starter

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/storage/fault"
)

// Choices are what the files are written for.
type Choices struct {
	Agent   string // one of Agents
	Engine  string // Sandbox, or the URL of an OpenAI-compatible server
	Trainer string // one of TrainersOf the engine
	Model   string // that the engine serves, or that ART trains; not used with the sandbox
	Tasks   *Tasks // the user's own; nil for tasks of arithmetic
	Schema  string // JSON schema of the config
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

func usage(hint, format string, args ...any) error {
	return fault.Errorf(fault.Usage, hint, "init: %w", fmt.Errorf(format, args...))
}
