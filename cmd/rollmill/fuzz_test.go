package main

import (
	"fmt"
	"strings"
	"testing"
)

// A shard that is read is one of its count, and is written as one that is read
// as the same.
func FuzzShard(f *testing.F) {
	for _, s := range []string{"0/4", "auto/4", "3/3", "-1/2", "1/99999999999", "/", "0x1/2", " 1/2", "+1/2"} {
		f.Add(s, "2")
	}
	f.Fuzz(func(t *testing.T, text, index string) {
		lookup := func(name string) (string, bool) { return index, name == "SLURM_ARRAY_TASK_ID" }
		s, err := parseShard(text, lookup)
		if err != nil || text == "" {
			return
		}
		if s.Index < 0 || s.Index >= s.Count {
			t.Fatalf("%q is shard %d of %d", text, s.Index, s.Count)
		}
		if again, err := parseShard(fmt.Sprintf("%d/%d", s.Index, s.Count), lookup); err != nil || again != s {
			t.Fatalf("%q is %+v, then %+v: %v", text, s, again, err)
		}
	})
}

// Whatever a config file says, it is read within bounds, and takes no more
// from the environment than it says.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{"run: r\nrollout:\n  generations: 8\n", "run: ${RUN}\n", "a: &a [x,x]\nb: &b [*a,*a]\nrun: *b\n", "<<: {run: x}\n", "run: !!binary AA==\n", "---\n---\n", "score: [", "\t", "run: $${X}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lookup := func(name string) (string, bool) { return "value-of-" + name, name == "RUN" }
		settings, expanded, err := parseConfig("rollmill.yaml", data, lookup)
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
