package kept

import (
	"errors"
	"testing"
)

// TestTheLastUsedAreKept checks what is made again: errors, and what was not used for longest.
func TestTheLastUsedAreKept(t *testing.T) {
	k, made, dropped := New[string](2), "", ""
	k.Dropped = func(v string) { dropped += v }
	of := func(name string, fails error) {
		got, err := k.Of(name, func() (string, error) {
			made += name
			return name, fails
		})
		if !errors.Is(err, fails) || fails == nil && got != name {
			t.Fatalf("%s: %q, %v", name, got, err)
		}
	}
	of("a", errors.ErrUnsupported)
	of("a", nil)
	of("b", nil)
	of("a", nil)
	of("c", nil) // in place of b
	of("a", nil)
	of("b", nil)
	if made != "aabcb" || dropped != "bc" {
		t.Errorf("made %q, dropped %q", made, dropped)
	}
	n := 0
	if k.Each(func(string) { n++ }); n != 2 {
		t.Errorf("%d are kept", n)
	}
}
