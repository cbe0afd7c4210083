package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
)

// makeOptions makes the options of every stage from the config file, as train
// does, and runs nothing.
var makeOptions = cli.Command{Name: "options", Heading: settings.KeepHeading, Section: trainCommand.Name,
	Body: cli.With(newTrainSettings, func(ctx context.Context, s *cli.Session, c *trainSettings) error {
		o, err := c.options(ctx, s)
		if err != nil {
			return err
		}
		return checkStages(o)
	})}

// TestConvertedConfigs checks that the config files that rollmill.nat, in Python,
// makes of NAT's configurations have no unknown key, and only values that the
// stages take.
func TestConvertedConfigs(t *testing.T) {
	files, err := filepath.Glob("../python/tests/nat/*.rollmill.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d configs, %v", len(files), err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"tasks.json": `[{"id":"a","question":"b"}]`, "train.txt": "key,prompt,reference,made,level,kind\na,b,c,d,easy,a1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GENERATIONS", "4")
	t.Setenv("ART_PORT", "7999")
	t.Setenv("DATA", dir)
	t.Setenv("CUSTOMIZER_HOST", "http://nemo.test")
	t.Setenv("DATASTORE_HOST", "http://data-store.test")
	for _, file := range files {
		args := []string{"rollmill", "options", "--config", file}
		if data, _ := os.ReadFile(file); !strings.Contains(string(data), "${DATA:-") {
			args = append(args, "--set", "rollout.examples="+filepath.Join(dir, "tasks.json"))
		}
		if strings.Contains(file, "rl-example") || strings.Contains(file, "evaluation") { // one generation, as in NAT's example
			if code, log := options(t, args); code != 2 || !strings.Contains(log, "set rollout.generations") {
				t.Errorf("%s: exit code %d\n%s", file, code, log)
			}
			args = append(args, "--set", "rollout.generations=2")
		}
		if code, log := options(t, args); code != 0 {
			t.Errorf("%s: exit code %d\n%s", file, code, log)
		}
	}
}

// options runs a command line of the program with makeOptions.
func options(t *testing.T, args []string) (code int, log string) {
	a, out := app(), &strings.Builder{}
	a.Commands = append(a.Commands, makeOptions)
	code = a.Run(t.Context(), args, terminal.Streams{In: strings.NewReader(""), Out: out, Err: out, Lookup: os.LookupEnv})
	return code, out.String()
}
