package agents

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"text/template"
	"time"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/internal/process"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Settings are the settings of an agent.
type Settings interface {
	plugin.Settings

	// Agent makes the agent, which keeps no reference to the settings. An error
	// is of kind usage, or names what could not be read.
	Agent(ctx context.Context, s Setup) (Agent, error)
}

// Registry lists agents, in the order of help.
type Registry = plugin.Registry[Settings, plugin.Kind[Settings]]

// Chosen is the agent that --agent names, with its settings. plugin.Pick
// makes it.
type Chosen = plugin.Chosen[Settings, plugin.Kind[Settings]]

// Setup holds the options of rollout that matter to an agent.
type Setup struct {
	Client            Client   // asks the model
	Model             string   // requested; "" when the policy names it
	TargetModel       string   // calls to this model are trained on
	Functions         []string // and, unless empty, made by one of these functions
	NoLogprobs        bool     // answers may have none
	AcceptFinish      []string // finish reasons that count as the end of an answer
	TrainAlternatives bool     // answers that were not chosen stay in the tree
	TrainAuxiliary    bool     // auxiliary calls train too (see tree.Auxiliary)

	KeepWorkspace bool // attempts keep what they changed in their containers

	// Lookup reads an environment variable of this process; nil: os.LookupEnv.
	Lookup func(name string) (value string, ok bool)
}

func (s Setup) Env(name string) (value string, ok bool) {
	if s.Lookup == nil {
		return os.LookupEnv(name)
	}
	return s.Lookup(name)
}

// Template reads a template over an example's fields, with the function json. Its
// error is of kind usage; example is a template for its hint.
func Template(flag, text, example string) (*template.Template, error) {
	t, err := template.New(flag).Option("missingkey=error").Funcs(template.FuncMap{"json": toJSON}).Parse(text)
	if err != nil {
		return nil, Usage("a template names an example's fields: "+example, "%w", err)
	}
	return t, nil
}

func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// Arguments are the words that follow an agent's name: --agent 'NAME: WORDS'.
// Settings of agents that take arguments embed it.
type Arguments struct{ Words []string }

func (a *Arguments) Take(words []string) { a.Words = words }

// SetWords passes the words after its name to an agent.
func SetWords(s Settings, words []string) error {
	if taker, ok := s.(interface{ Take(words []string) }); ok {
		taker.Take(words)
	} else if len(words) > 0 {
		return plugin.Badf("`rollmill help agent NAME` shows its flags", "the agent takes no arguments, not %q", words)
	}
	return nil
}

// ProgramSettings are the settings of agents that run programs, for embedding.
type ProgramSettings struct {
	Dir   string        // working folder of the programs
	Env   []string      // NAME=VALUE, or NAME alone
	Logs  string        // local folder that keeps the standard error of every trajectory; "" for none
	Grace time.Duration // between SIGTERM and SIGKILL of a program's process group; 0 means 2 s
}

func (p *ProgramSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	d.String(&p.Dir, "agent-dir", "run the program in this `FOLDER`")
	d.Strings(&p.Env, "agent-env",
		"give the program this `KEY=VALUE`; KEY alone passes it from the environment, the only way to pass variables named "+
			"like secrets (KEY, TOKEN, PASSWORD, ...)").Hidden()
	d.Heading(plugin.Execution)
	d.String(&p.Logs, "agent-logs", "keep the standard error of each trajectory's programs in this local `FOLDER`")
}

// Program is a program with the settings, after Environ made Env whole.
func (p *ProgramSettings) Program(words ...string) process.Program {
	return process.Program{Words: words, Dir: p.Dir, Env: slices.Clip(p.Env), Grace: p.Grace}
}

// Environ returns the variables as KEY=VALUE. Those named alone get their
// values from the environment. Values that look like secrets are added to the
// secrets of ctx.
func (p *ProgramSettings) Environ(ctx context.Context, s Setup) ([]string, error) {
	var out []string
	for _, variable := range p.Env {
		name, value, ok := s.Variable(ctx, variable)
		if !ok {
			return nil, Usage("write --agent-env NAME=VALUE, or set it in the environment",
				"--agent-env %q is not set", name)
		}
		out = append(out, name+"="+value)
	}
	return out, nil
}

// Variable is stages.Variable of the environment that agents get.
func (s Setup) Variable(ctx context.Context, variable string) (name, value string, ok bool) {
	return stages.Variable(ctx, variable, s.Env)
}
