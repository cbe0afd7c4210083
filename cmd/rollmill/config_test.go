package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/cmd/internal/config"
	"github.com/urfave/cli/v2"
)

// context runs a command line of flags against a config file's text.
func flagsFrom(t *testing.T, flags []cli.Flag, section, file string, env map[string]string, args ...string) *cli.Context {
	t.Helper()
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	parsed, _, err := config.Parse("test.yaml", []byte(file), keySchema(map[string][]cli.Flag{"": {}, section: flags}), lookup)
	if err != nil {
		t.Fatal(err)
	}
	var c *cli.Context
	app := &cli.App{Flags: flags, DisableSliceFlagSeparator: true, Action: func(inner *cli.Context) error { c = inner; return nil }}
	if err := app.Run(append([]string{"x"}, args...)); err != nil {
		t.Fatal(err)
	}
	cfg := &settings{file: parsed, lookup: lookup}
	if err := cfg.apply(c, section, flags); err != nil {
		t.Fatal(err)
	}
	return c
}

func testFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "sampling", Usage: "x"},
		&cli.StringSliceFlag{Name: "agent-env", Usage: "x"},
		&cli.StringSliceFlag{Name: "reward", Usage: "x"},
		&cli.IntFlag{Name: "generations", Value: 1, Usage: "x"},
		&cli.Float64Flag{Name: "gate", Usage: "x"},
	}
}

// Values of sampling and the like have types; everything else is text.
func TestObjects(t *testing.T) {
	want := map[string]any{"temperature": 0.5, "max_tokens": 64, "stop": []any{"</move>", "5"}, "note": "0.5",
		"top_p": 0.9, "nested": map[string]any{"a": true}}
	c := flagsFrom(t, testFlags(), "rollout", `
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
	got, err := object(c, "sampling")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("sampling from the file: %v %v, want %v", got, err, want)
	}
	if got := c.StringSlice("agent-env"); !reflect.DeepEqual(got, []string{"A=1.0", "B=x, y", "C=0.9"}) {
		t.Errorf("agent-env from the file: %q", got)
	}
	c = flagsFrom(t, testFlags(), "rollout", "", nil, "--sampling", "temperature=0.5", "--sampling", `stop=["a", "b"]`, "--sampling", "word=a: b: c")
	got, err = object(c, "sampling")
	if err != nil || !reflect.DeepEqual(got, map[string]any{"temperature": 0.5, "stop": []any{"a", "b"}, "word": "a: b: c"}) {
		t.Errorf("sampling from flags: %v %v", got, err)
	}
}

// A flag's list replaces the file's; commas and colons in it are text.
func TestLists(t *testing.T) {
	const file = `rollout: {reward: ["a=match:exact", "b=expr:x ? 1, 2 : 3"]}`
	c := flagsFrom(t, testFlags(), "rollout", file, nil)
	if got := c.StringSlice("reward"); !reflect.DeepEqual(got, []string{"a=match:exact", "b=expr:x ? 1, 2 : 3"}) {
		t.Errorf("from the file: %q", got)
	}
	c = flagsFrom(t, testFlags(), "rollout", file, map[string]string{"ROLLMILL_ROLLOUT_REWARD": "c=1,2\nd=3"})
	if got := c.StringSlice("reward"); !reflect.DeepEqual(got, []string{"c=1,2", "d=3"}) {
		t.Errorf("from the environment: %q", got)
	}
	c = flagsFrom(t, testFlags(), "rollout", file, nil, "--reward", "e=4,5")
	if got := c.StringSlice("reward"); !reflect.DeepEqual(got, []string{"e=4,5"}) {
		t.Errorf("from a flag: %q", got)
	}
}

// What nobody says stays unsaid: absent is not zero.
func TestAbsent(t *testing.T) {
	if c := flagsFrom(t, testFlags(), "rollout", "rollout:\n  gate:\n", nil); float(c, "gate") != nil {
		t.Error("a key without a value counts as set")
	}
	if c := flagsFrom(t, testFlags(), "rollout", "rollout:\n  gate: 0\n", nil); float(c, "gate") == nil || *float(c, "gate") != 0 {
		t.Error("a gate of 0 from the file does not count as set")
	}
	if c := flagsFrom(t, testFlags(), "rollout", "", map[string]string{"ROLLMILL_ROLLOUT_GATE": "0"}); float(c, "gate") == nil {
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
	if !strings.Contains(indexPage(), "`ROLLMILL_LOG_LEVEL`") {
		t.Error("the page names no variable")
	}
}
