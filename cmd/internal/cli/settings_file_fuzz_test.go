package cli

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/plugin"
)

// FuzzConfig checks that any config file is read within bounds, and takes only
// the environment variables that it names.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{"run: r\nrollout:\n  generations: 8\n", "run: ${RUN}\n", "a: &a [x,x]\nb: &b [*a,*a]\nrun: *b\n", "<<: {run: x}\n",
		"run: !!binary AA==\n", "---\n---\n", "score: [", "\t", "run: $${X}", "rollout: {sampling: {a: {b: [1, ${RUN}]}, stop: [x]}}",
		"rollout: {sampling: {a: &a [*a]}}"} {
		f.Add([]byte(s))
	}
	options := optionsOf([]*plugin.Setting{{Name: "run", Public: true}, {Name: "generations"}, {Name: "sampling", Type: plugin.Object},
		{Name: "reward", Prompt: true}})
	a, schema := sample(), map[string][]*option{"": options, "rollout": options, "score": options}
	f.Fuzz(func(t *testing.T, data []byte) {
		lookup := func(name string) (string, bool) { return "value-of-" + name, name == "RUN" }
		settings, expanded, err := a.parse("rollmill.yaml", data, schema, lookup)
		if err != nil {
			if strings.Contains(err.Error(), "value-of-RUN") && !strings.Contains(string(data), "RUN") {
				t.Fatalf("the environment is in %v", err)
			}
			return
		}
		if len(expanded) > 0 && !strings.Contains(string(data), "$") {
			t.Fatalf("%q took %v", data, expanded)
		}
		n := 0
		for _, section := range settings {
			n += len(section)
		}
		if n > len(data) {
			t.Fatalf("%d settings in %d bytes", n, len(data))
		}
	})
}
