package stages

import (
	"fmt"
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
		s, err := ParseShard(text, lookup)
		if err != nil || text == "" {
			return
		}
		if s.Index < 0 || s.Index >= s.Count {
			t.Fatalf("%q is shard %d of %d", text, s.Index, s.Count)
		}
		if again, err := ParseShard(fmt.Sprintf("%d/%d", s.Index, s.Count), lookup); err != nil || again != s {
			t.Fatalf("%q is %+v, then %+v: %v", text, s, again, err)
		}
	})
}
