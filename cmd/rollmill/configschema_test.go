package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v4"
)

// configSchema returns what says whether a validator of another author takes a config.
func configSchema(t *testing.T) func(text string) error {
	t.Helper()
	code, text, stderr := rollmill(t, "help", "schema", "config")
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil || code != 0 {
		t.Fatal(err, stderr)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) error {
		var value any
		if err := yaml.Load([]byte(text), &value); err != nil {
			return err
		}
		data, err := json.Marshal(value)
		if err == nil {
			err = json.Unmarshal(data, &value) // as JSON has it
		}
		if err != nil {
			return err
		}
		return resolved.Validate(value)
	}
}

// TestConfigSchema: the schema takes the configs of the repository, and neither it nor the program takes
// another YAML.
func TestConfigSchema(t *testing.T) {
	valid := configSchema(t)
	out, err := exec.Command("git", "-C", "../..", "ls-files", "*.yaml", "*.yml").Output()
	if err != nil {
		t.Skip("this is no clone: ", err)
	}
	configs := 0
	for name := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n") {
		data, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil || strings.Contains(string(data), "{{") {
			continue // a template; TestInit has what it makes
		}
		for _, m := range regexp.MustCompile(`\$\{(\w+)\}`).FindAllStringSubmatch(string(data), -1) {
			t.Setenv(m[1], "1")
		}
		_, _, stderr := rollmill(t, "show", "--config", filepath.Join("../..", name), "--in", "mem://nothing/there")
		refused := strings.Contains(stderr, filepath.Base(name)+":")
		if err := valid(string(data)); (err != nil) != refused {
			t.Errorf("%s: the schema says %v, the program %s", name, err, stderr)
		}
		if !refused {
			configs++
		}
	}
	if configs < 10 {
		t.Errorf("%d configs", configs)
	}
}

// TestConfigSchemaRefuses: what is wrong by its name or type the schema and the program refuse, with the line or, of a
// plug-in's name, the value; and the schema takes what is right beside it.
func TestConfigSchemaRefuses(t *testing.T) {
	valid, file := configSchema(t), filepath.Join(t.TempDir(), "cfg.yaml")
	at := regexp.MustCompile(`cfg\.yaml:\d+`)
	try := func(section, right, wrong string) {
		t.Helper()
		if right != "" {
			if err := valid(right); err != nil {
				t.Errorf("%s is right: %v", right, err)
			}
		}
		if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{section, "--config", file}
		if strings.Contains("score group curate submit", section) {
			args = append(args, "--in", "mem://nothing/there")
		}
		code, _, stderr := rollmill(t, args...)
		if err := valid(wrong); err == nil || code != 2 || !at.MatchString(stderr) && !strings.Contains(stderr, `"neither"`) && !strings.Contains(stderr, `"5"`) {
			t.Errorf("%s: the schema says %v, the program %d %s", wrong, err, code, stderr)
		}
	}
	key := func(section, key, value string) string {
		return fmt.Sprintf("run: r\n%s:\n  %s: %s\n", section, key, value)
	}
	wrong := 0
	for kind, c := range map[string]struct{ right, wrong []string }{
		"text":         {[]string{"x", "5", "true", "null", "${X:-x}"}, []string{"[x]", "{a: b}"}},
		"whole number": {[]string{"5", `"5"`, "${N:-5}", "null"}, []string{"two", "5.5", "[5]", "{a: 5}", "true"}},
		"number":       {[]string{"0.5", `"5e-1"`, "1"}, []string{"half", "[0.5]", "{a: 1}", "true"}},
		"duration":     {[]string{"90s", "1h30m", "0", "1.5h"}, []string{"90", "5 minutes", "[90s]", "{a: 1s}", "true"}},
		"switch":       {[]string{"true", "false", `"true"`, "1"}, []string{"on", "maybe", "2", "[true]", "{a: true}"}},
		"choice":       {nil, []string{"neither", "[neither]", "5", "{a: b}"}},
		"list":         {[]string{"x", "[x, y]", "[]", "null"}, []string{"[[x]]", "[{a: b}]"}},
		"pairs":        {[]string{"{a: b}", "a=b", "[a=b]"}, []string{"[[a=b]]", "{a: [b]}"}},
		"object":       {[]string{"{a: {b: [1]}}", "[a=1]"}, []string{"[[a]]", "{a"}},
	} {
		for _, path := range keysOf[kind] {
			section, name, _ := strings.Cut(path, ".")
			for _, value := range c.right {
				if err := valid(key(section, name, value)); err != nil {
					t.Errorf("%s: %s is right: %v", path, value, err)
				}
			}
			for _, value := range c.wrong {
				wrong++
				try(section, "", key(section, name, value))
			}
		}
	}
	for _, section := range []string{"rollout", "score", "group", "curate", "submit", "train", "validation", "view", "report"} {
		for _, text := range []string{section + ":\n  nothing-such: 1\n", section + "x:\n  workers: 1\n", section + ": text\n", section + ": [a]\n"} {
			wrong++
			command := section
			if section == "validation" {
				command = "rollout"
			}
			try(command, section+":\n", text)
		}
	}
	for _, text := range []string{"runs: x\n", "run: [x]\n", "log-level: loud\n", "x: {y: z}\n"} {
		wrong++
		try("group", "run: x\n", text)
	}
	if wrong < 100 {
		t.Errorf("%d wrong configs", wrong)
	}
}

// keysOf are keys of each type.
var keysOf = map[string][]string{
	"text":         {"rollout.model", "score.out", "curate.out"},
	"whole number": {"rollout.generations", "score.seed", "rollout.concurrency", "train.epochs"},
	"number":       {"rollout.max-failure-rate", "group.solved-threshold", "submit.learning-rate"},
	"duration":     {"rollout.call-timeout", "score.timeout", "submit.poll-interval"},
	"switch":       {"rollout.overwrite", "submit.wait"},
	"list":         {"curate.filter", "rollout.url"},
	"pairs":        {"rollout.task-env"},
	"object":       {"rollout.sampling"},
	"choice":       {"group.estimator", "rollout.agent"},
}
