// Package all lists the trainers. To add one: add a line to List, and a field
// to Config for its settings.
package all

import (
	"context"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/backends/art"
	"github.com/rollmill/rollmill/stages/backends/command"
	"github.com/rollmill/rollmill/stages/backends/customizer"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/backends/finetune"
	"github.com/rollmill/rollmill/stages/backends/hub"
)

// Trainer has the methods of submit.Trainer, which says what they promise.
type Trainer interface {
	Target() formats.Target
	Preflight(ctx context.Context, groups formats.Groups, report func(formats.Problem)) (formats.Load, error)
	Begin(ctx context.Context, known *formats.Policy) (formats.Standing, error)
	Submit(ctx context.Context, s formats.Submission, groups formats.Groups, event func(formats.JobEvent)) (formats.Outcome, error)
	Resolve(ctx context.Context, s formats.Submission) (formats.Outcome, error)
}

// Config holds the settings of every backend, each under its name.
type Config struct {
	ART     art.Config     `yaml:"art"`
	File    file.Config    `yaml:"file"`
	Command command.Config `yaml:"command"`

	OpenAI     finetune.Config   `yaml:"openai"`
	Customizer customizer.Config `yaml:"customizer"`
	Hub        hub.Config        `yaml:"hub"`

	Place file.Place `yaml:"-"` // where the file backend writes
}

// Backend is a trainer by name.
type Backend struct {
	Name string
	Help string
	New  func(Config) (Trainer, error)
}

// List is every backend, in the order of the help.
var List = []Backend{
	{"art", "an OpenPipe ART server (or the sandbox) trains by GRPO over HTTP", func(c Config) (Trainer, error) { return trainer(art.New(c.ART)) }},
	{"openai", "fine-tuning at OpenAI, Azure or a service that copies the API: supervised, DPO, reinforcement", func(c Config) (Trainer, error) { return trainer(finetune.New(c.OpenAI)) }},
	{"customizer", "NVIDIA NeMo Customizer (NeMo Microservices 25.x): DPO and SFT, and a NIM for the outcome", func(c Config) (Trainer, error) { return trainer(customizer.New(c.Customizer)) }},
	{"hub", "a dataset repository of the Hugging Face hub, or of a store with its API; whoever trains pins the commit", func(c Config) (Trainer, error) { return trainer(hub.New(c.Hub)) }},
	{"file", "files for trainers elsewhere: ART, TRL, verl, OpenRLHF, NeMo-RL, slime, NeMo Customizer", func(c Config) (Trainer, error) { return trainer(file.New(c.File, c.Place)) }},
	{"command", "any program: it is told where the dataset is and answers with lines of JSON", func(c Config) (Trainer, error) { return trainer(command.New(c.Command)) }},
}

// trainer keeps a nil pointer from becoming a Trainer.
func trainer[T Trainer](t T, err error) (Trainer, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

// New makes the trainer of a name.
func New(name string, c Config) (Trainer, error) {
	var names []string
	for _, b := range List {
		if b.Name == name {
			return b.New(c)
		}
		names = append(names, b.Name)
	}
	return nil, unknown(fmt.Sprintf("unknown backend %q (known: %s)", name, strings.Join(names, ", ")))
}

type unknown string

func (u unknown) Error() string { return string(u) }

// Misused tells that the config is wrong.
func (u unknown) Misused() bool { return true }
