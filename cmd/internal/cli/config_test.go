package cli

import (
	"reflect"
	"strings"
	"testing"

	urfave "github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/stages/plugin"
)

// tried has one setting of each type that this file tests.
type tried struct {
	Sampling    map[string]any
	Env, Reward []string
	Gate        *float64
}

func (o *tried) Declare(d *plugin.Declarer) {
	d.Objects(&o.Sampling, "sampling", "x `KEY=VALUE`")
	d.Strings(&o.Env, "agent-env", "x `KEY=VALUE`")
	d.Strings(&o.Reward, "reward", "x `SPEC`")
	d.OptionalFloat(&o.Gate, "gate", "x `X`")
}

// configuredFrom returns the settings from a command line and the text of a config
// file.
func configuredFrom(t *testing.T, file string, env map[string]string, args ...string) *tried {
	t.Helper()
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	settings := &tried{}
	options := optionsOf(plugin.Declared(settings))
	a := sample()
	parsed, _, err := a.parse("test.yaml", []byte(file), map[string][]*option{"": {}, "rollout": options}, lookup)
	if err != nil {
		t.Fatal(err)
	}
	app := &urfave.App{Flags: flagsOf(options), DisableSliceFlagSeparator: true, Action: func(*urfave.Context) error { return nil }}
	if err := app.Run(append([]string{"x"}, args...)); err != nil {
		t.Fatal(err)
	}
	cfg := &configured{app: a, file: parsed, lookup: lookup}
	if err := cfg.apply("rollout", options); err != nil {
		t.Fatal(err)
	}
	return settings
}

// TestAliases checks that a reference in an anchor is expanded once for each alias.
func TestAliases(t *testing.T) {
	c := configuredFrom(t, `
rollout:
  <<: {agent-env: [A=1], gate: 1}
  gate: 0.5
  sampling: {a: &a {b: "$${X}", c: "${TOP}"}, d: *a, e: {<<: *a, c: 2}}
`, map[string]string{"TOP": "0.9", "X": "wrong"})
	a := map[string]any{"b": "${X}", "c": "0.9"}
	want := map[string]any{"a": a, "d": a, "e": map[string]any{"b": "${X}", "c": 2}}
	if !reflect.DeepEqual(c.Sampling, want) || *c.Gate != 0.5 || !reflect.DeepEqual(c.Env, []string{"A=1"}) {
		t.Errorf("%v, want %v; gate %v, env %v", c.Sampling, want, *c.Gate, c.Env)
	}
}

// TestObjects checks that values of objects such as sampling have types; all other
// values are text.
func TestObjects(t *testing.T) {
	want := map[string]any{"temperature": 0.5, "max_tokens": 64, "stop": []any{"</move>", "5"}, "note": "0.5",
		"top_p": 0.9, "nested": map[string]any{"a": true}}
	c := configuredFrom(t, `
rollout:
  sampling:
    temperature: 0.5
    max_tokens: 64
    stop: ["</move>", "5"]
    note: "0.5"
    top_p: ${TOP}
    nested: {a: true}
  agent-env: {A: 1.0, B: "x, y", C: "${TOP}"}
`, map[string]string{"TOP": "0.9"})
	if got := c.Sampling; !reflect.DeepEqual(got, want) {
		t.Errorf("sampling from the file: %v, want %v", got, want)
	}
	if got := c.Env; !reflect.DeepEqual(got, []string{"A=1.0", "B=x, y", "C=0.9"}) {
		t.Errorf("agent-env from the file: %q", got)
	}
	c = configuredFrom(t, "", nil, "--sampling", "temperature=0.5", "--sampling", `stop=["a", "b"]`, "--sampling", "word=a: b: c")
	if got := c.Sampling; !reflect.DeepEqual(got, map[string]any{"temperature": 0.5, "stop": []any{"a", "b"}, "word": "a: b: c"}) {
		t.Errorf("sampling from flags: %v", got)
	}
}

// TestLists checks that a flag's list replaces the file's, and that commas and
// colons in it are text.
func TestLists(t *testing.T) {
	const file = `rollout: {reward: ["a=match:exact", "b=expr:x ? 1, 2 : 3"]}`
	c := configuredFrom(t, file, nil)
	if got := c.Reward; !reflect.DeepEqual(got, []string{"a=match:exact", "b=expr:x ? 1, 2 : 3"}) {
		t.Errorf("from the file: %q", got)
	}
	c = configuredFrom(t, file, map[string]string{"ROLLMILL_ROLLOUT_REWARD": "c=1,2\nd=3"})
	if got := c.Reward; !reflect.DeepEqual(got, []string{"c=1,2", "d=3"}) {
		t.Errorf("from the environment: %q", got)
	}
	c = configuredFrom(t, file, nil, "--reward", "e=4,5")
	if got := c.Reward; !reflect.DeepEqual(got, []string{"e=4,5"}) {
		t.Errorf("from a flag: %q", got)
	}
}

// TestAbsentIsNotZero checks that a setting without a value is not set to zero.
func TestAbsentIsNotZero(t *testing.T) {
	if c := configuredFrom(t, "rollout:\n  gate:\n", nil); c.Gate != nil {
		t.Error("a key without a value counts as set")
	}
	if c := configuredFrom(t, "rollout:\n  gate: 0\n", nil); c.Gate == nil || *c.Gate != 0 {
		t.Error("a gate of 0 from the file does not count as set")
	}
	if c := configuredFrom(t, "", map[string]string{"ROLLMILL_ROLLOUT_GATE": "0"}); c.Gate == nil {
		t.Error("a gate of 0 from the environment does not count as set")
	}
}

func TestVariable(t *testing.T) {
	for _, c := range []struct{ section, name, want string }{
		{"rollout", "sampling-seed", "ROLLMILL_ROLLOUT_SAMPLING_SEED"},
		{"", "log-level", "ROLLMILL_LOG_LEVEL"},
	} {
		if got := variable(c.section, c.name); got != c.want {
			t.Errorf("variable(%q, %q) = %q", c.section, c.name, got)
		}
	}
	if !strings.Contains(sample().indexPage(), "`ROLLMILL_LOG_LEVEL`") {
		t.Error("the page names no variable")
	}
}
