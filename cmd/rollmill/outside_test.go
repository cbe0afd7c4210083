package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/stages/backends"
	trainers "github.com/rollmill/rollmill/stages/backends/all"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/builtin"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
)

// outside is a plug-in of every kind, in no list of the tree. Its one setting is
// declared in one line and named nowhere else.
type outside struct {
	flag string
	Text string
}

func (o *outside) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	d.String(&o.Text, o.flag, "do as `TEXT` says").ID("outside_text")
}

var errOutside = errors.New("it makes nothing")

func (o *outside) Rule(curate.Setup) (curate.Rule, error)   { return curate.Rule{}, nil }
func (o *outside) Reward(score.Setup) (score.Reward, error) { return nil, errOutside }
func (o *outside) Estimator(group.Setup) (group.Estimator, error) {
	return group.Estimator{}, errOutside
}
func (o *outside) Trainer(backends.Setup) (backends.Trainer, error) { return nil, errOutside }
func (o *outside) Agent(context.Context, agents.Setup) (agents.Agent, error) {
	return nil, errOutside
}

// outsideKind returns the registry entry of the plug-in.
func outsideKind[S plugin.Settings](flag string) plugin.Kind[S] {
	return plugin.Kind[S]{Name: "outside", Help: "do what is asked from outside", New: func() S {
		return any(&outside{flag: flag, Text: "by default"}).(S)
	}}
}

// more returns the registry with one more entry.
func more[S plugin.Settings, E plugin.Entry[S]](r plugin.Registry[S, E], e E) plugin.Registry[S, E] {
	return plugin.NewRegistry[S](r.Sort, append(r.All(), e)...)
}

// replaced returns the program, with other settings for one command, which prints
// the text that the plug-in was given.
func replaced[S plugin.Settings](cmd cli.Command, fresh func() S) *cli.App {
	cmd.Body = cli.With(fresh, func(_ context.Context, s *cli.Session, settings S) error {
		for _, x := range plugin.Declared(settings) {
			if strings.HasPrefix(x.Name, "outside-") {
				return s.Result(fmt.Sprint(x.Value()), nil)
			}
		}
		return nil
	})
	out := app()
	for i := range out.Commands {
		if out.Commands[i].Name == cmd.Name {
			out.Commands[i] = cmd
		}
	}
	return out
}

// printed runs a command of a program, which must succeed, and returns its output.
func printed(t *testing.T, a *cli.App, env map[string]string, args ...string) string {
	t.Helper()
	var out, log strings.Builder
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	streams := terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &log, Lookup: lookup, Environ: slices.Collect(maps.Keys(env))}
	if code := a.Run(t.Context(), append([]string{"rollmill"}, args...), streams); code != 0 {
		t.Errorf("%q: exit code %d: %s", args, code, log.String())
	}
	return out.String()
}

// TestPluginsFromOutside adds a rule, a reward, an agent, an estimator and a
// backend that no file of the tree names, each by one registry entry, and checks
// its flag, page, config key, environment variable and identity.
func TestPluginsFromOutside(t *testing.T) {
	for _, c := range []added{
		{"rule", "curate", replaced(curateCommand, func() *curateSettings {
			s := newCurateSettings()
			s.Rules = plugin.Every(more(rules.All, curate.RuleKind{Kind: outsideKind[curate.RuleSettings]("outside-rule")}))
			return s
		})},
		{"agent", "rollout", replaced(rolloutCommand, func() *rolloutSettings {
			s := newRolloutSettings()
			s.Agents = plugin.Pick(more(builtin.All, outsideKind[agents.Settings]("outside-agent")), "outside")
			return s
		})},
		{"estimator", "group", replaced(groupCommand, func() *groupSettings {
			s := newGroupSettings()
			s.Estimator = plugin.Pick(more(estimators.All, group.EstimatorKind{Kind: outsideKind[group.EstimatorSettings]("outside-estimator")}), "outside")
			return s
		})},
		{"backend", "submit", replaced(submitCommand, func() *submitSettings {
			s := newSubmitSettings()
			s.Backend = plugin.Pick(more(trainers.Backends, outsideKind[backends.TrainerSettings]("outside-backend")), "outside")
			return s
		})},
	} {
		t.Run(c.sort, func(t *testing.T) { c.check(t) })
	}
	t.Run("reward", func(t *testing.T) {
		program := replaced(scoreCommand, func() *scoreSettings {
			s := newScoreSettings()
			s.Registry = more(rewards.All, score.RewardKind{Kind: outsideKind[score.RewardSettings]("outside-reward")})
			return s
		})
		if help := printed(t, program, nil, "help", "reward", "outside"); !strings.Contains(help, "outside-reward=TEXT") {
			t.Errorf("the help has no key of its own:\n%s", help)
		}
		settings := &outside{flag: "outside-reward", Text: "by default"}
		if err := plugin.Parse(settings, "outside-reward=told"); err != nil || settings.Text != "told" {
			t.Errorf("a spec fills %+v: %v", settings, err)
		}
	})
}

// TestFormatFromOutside adds a format that no file of the tree names to backend
// file, and checks its help, page, identity and that --kinds takes it.
func TestFormatFromOutside(t *testing.T) {
	format := exporters.Format{
		Name: "outside", For: exporters.Tables, Help: "the ids of groups", Of: exporters.Groups,
		Files: []exporters.Extension{exporters.JSONL},
		Lines: exporters.Lines(func(x *exporters.Item) []string { return []string{x.Rows[0].GroupID} }),
	}
	foreigntest.Exporter(t, format, [][]formats.Trajectory{randomtest.Group(1, 0, randomtest.Options{})})
	entry := file.KindOf(append(slices.Clip(foreign.Exporters), format))
	registry := plugin.NewRegistry[backends.TrainerSettings]("backend", entry)
	changed := replaced(submitCommand, func() *submitSettings {
		s := newSubmitSettings()
		s.Backend = plugin.Pick(registry, "file")
		return s
	})
	for of, want := range map[string]string{"format outside": "format outside - the ids of groups (outside.jsonl)", "backend file": "outside"} {
		sort, name, _ := strings.Cut(of, " ")
		if help := printed(t, changed, nil, "help", sort, name); !strings.Contains(help, want) {
			t.Errorf("help:\n%s", help)
		}
		if page := changed.Pages()[sort+"s.md"]; !strings.Contains(page, "he ids of groups") {
			t.Errorf("page:\n%s", page)
		}
	}
	for _, s := range changed.Schema()["submit"] {
		if s.Name == "kinds" && !slices.Contains(s.Choices, "outside") {
			t.Errorf("--kinds takes %v", s.Choices)
		}
	}
	settings := entry.New()
	for _, s := range plugin.Declared(settings) {
		if s.Name == "kinds" {
			if err := s.Set("outside"); err != nil {
				t.Error(err)
			}
		}
	}
	tr, err := settings.Trainer(backends.Setup{Place: backends.Place{
		Begin: func(context.Context) (backends.Draft, error) { return nil, errOutside },
		Read:  func(context.Context, string) ([]byte, error) { return nil, errOutside },
	}})
	if err != nil || tr.Target().Model != "outside" {
		t.Errorf("a trainer of %+v: %v", tr, err)
	}
}

// added is an added plug-in and where it must appear.
type added struct {
	sort, section string
	program       *cli.App
}

func (c added) check(t *testing.T) {
	flag := "outside-" + c.sort
	if help := printed(t, c.program, nil, "help", c.sort, "outside"); !strings.Contains(help, "--"+flag+" TEXT") || !strings.Contains(help, "by default") {
		t.Errorf("help:\n%s", help)
	}
	key := c.section + "." + flag
	if page := c.program.Pages()[c.sort+"s.md"]; !strings.Contains(page, "`"+key+"`") {
		t.Errorf("page:\n%s", page)
	}
	variable := "ROLLMILL_" + strings.ToUpper(strings.ReplaceAll(c.section+"_"+flag, "-", "_"))
	for text, got := range map[string]string{
		"on the command line": printed(t, c.program, nil, c.section, "--"+flag, "on the command line"),
		"in the config":       printed(t, c.program, nil, c.section, "--set", key+"=in the config"),
		"in the environment":  printed(t, c.program, map[string]string{variable: "in the environment"}, c.section),
		"by default":          printed(t, c.program, nil, c.section),
	} {
		if got != text+"\n" {
			t.Errorf("given %s, it is %q", text, got)
		}
	}
	settings := &outside{flag: flag, Text: "by default"}
	fresh := func() plugin.Settings { return &outside{flag: flag, Text: "by default"} }
	if id, _ := json.Marshal(plugin.Identity(settings, fresh())); string(id) != "{}" {
		t.Errorf("identity at the default %s", id)
	}
	settings.Text = "told"
	if id, _ := json.Marshal(plugin.Identity(settings, fresh())); string(id) != `{"outside_text":"told"}` {
		t.Errorf("identity %s", id)
	}
}
