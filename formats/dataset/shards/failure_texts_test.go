package shards

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/secret"
)

// TestFailuresAreKeptOnce keeps the first text of each message, without secrets, and no
// more than a number of them; a reader finds it by the message, also after the seal.
func TestFailuresAreKeptOnce(t *testing.T) {
	set := &secret.Set{}
	set.Add("API_KEY", "a-secret-value")
	ctx, uri := secret.With(t.Context(), set), filepath.Join(t.TempDir(), "d")
	s, err := Begin(ctx, uri, wideSpec(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	const maxFailure, maxFailures = 64 << 10, 100
	long := strings.Repeat("x", 2*maxFailure) + "é"
	for _, f := range []*dataset.Failures{s.Failures(), s.Failures()} { // two times that the shard was begun
		for i, text := range []string{"first\nwith a-secret-value", "second", long} {
			message := []string{"KeyError", "KeyError", "long"}[i]
			if err := f.Keep(ctx, message, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	many := s.Failures()
	for i := range 2 * maxFailures {
		if err := many.Keep(ctx, fmt.Sprint(i), "text"); err != nil {
			t.Fatal(err)
		}
	}
	if err := NewTable[formats.Trajectory](s, "", -1).Write(ctx, group(0, 4)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(ctx, Outcome{}); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for message, want := range map[string]string{"KeyError": "first\nwith [redacted:API_KEY]", "": "", "other": "",
		"long": long[len(long)-maxFailure:], fmt.Sprint(maxFailures - 1): "text", fmt.Sprint(maxFailures): ""} {
		if got, err := d.Failure(ctx, message); err != nil || got != want {
			t.Errorf("%q: %.60q, %v, want %.60q", message, got, err, want)
		}
	}
}
