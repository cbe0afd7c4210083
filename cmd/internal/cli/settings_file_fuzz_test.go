package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// FuzzConfig checks that any config file is read within bounds, and takes only
// the environment variables that it names.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{"run: r\nrollout:\n  generations: 8\n", "run: ${RUN}\n", "a: &a [x,x]\nb: &b [*a,*a]\nrun: *b\n", "<<: {run: x}\n",
		"run: !!binary AA==\n", "---\n---\n", "score: [", "\t", "run: $${X}", "rollout: {sampling: {a: {b: [1, ${RUN}]}, stop: [x]}}"} {
		f.Add([]byte(s))
	}
	sections := []string{"", "rollout", "score"}
	schema := Schema{
		Has: func(section string) bool { return slices.Contains(sections, section) },
		Check: func(where, section, key string) error {
			if slices.Contains(sections, section) && slices.Contains([]string{"run", "generations", "sampling", "reward"}, key) {
				return nil
			}
			return fmt.Errorf("%s: there is no %s in %s", where, key, section)
		},
		Object: func(key string) bool { return key == "sampling" },
		Public: func(key string) bool { return key == "run" },
		Prompt: func(key string) bool { return key == "reward" },
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lookup := func(name string) (string, bool) { return "value-of-" + name, name == "RUN" }
		settings, expanded, err := Parse("rollmill.yaml", data, schema, lookup)
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
