package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/backends/command"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/score"
)

// TestThePythonModuleKnowsTheProtocols: its lists of keys are those of the objects that this program reads and writes.
func TestThePythonModuleKnowsTheProtocols(t *testing.T) {
	for _, c := range []struct {
		file, list string
		object     any
		own, apart []string // keys that only the object has, and only the list
	}{
		{"_agents.py", `(?s)class Example\(TypedDict\):(.*?)\n\n\n`, agents.Task{}, []string{"protocol"}, nil},
		{"_agents.py", `\n_KEYS = (\(.*?\))`, agents.Output{}, []string{"trajectory_id", "traceback"}, nil},
		{"_rewards.py", `(?s)class Row\(TypedDict\):(.*?)\n\n\n`, score.Request{}, []string{"artifacts", "protocol"}, nil},
		{"_trainers.py", `\n_KEYS = (\(.*?\))`, command.Answer{}, nil, nil},
		{"_rewards.py", `\n_KEYS = (\(.*?\))`, score.AnswerLine{}, []string{"id", "traceback"}, []string{"components"}},
	} {
		source, err := os.ReadFile(filepath.Join("../python/src/rollmill", c.file))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(c.list).FindSubmatch(source)
		if found == nil {
			t.Fatalf("%s has no %s", c.file, c.list)
		}
		var got, want []string
		for _, m := range regexp.MustCompile(`"(\w+)"[,)]|(?m)^    (\w+): `).FindAllStringSubmatch(string(found[1]), -1) {
			got = append(got, m[1]+m[2])
		}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(c.object)) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && !slices.Contains(c.own, name) {
				want = append(want, name)
			}
		}
		want = append(want, c.apart...)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has the keys %q, the protocol %q", c.file, got, want)
		}
	}
}
