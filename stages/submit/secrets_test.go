package submit_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/command"
	"github.com/rollmill/rollmill/stages/submit"
)

// The words of a trainer may hold a key. Who replaces it by another still finds
// what was submitted.
func TestAKeyReplacedByAnotherDoesNotTrainTwice(t *testing.T) {
	_, o := place(t, arttest.Faults{})
	count := t.TempDir() + "/count"
	program := `read r; case "$r" in *begin*) echo '{"step":0}';; *) echo x >>"$0"; echo '{"state":"completed","step":1}';; esac`
	with := func(key string) (submit.Result, error) {
		opts := options(t, o)
		var err error
		opts.Trainer, err = command.New(command.Config{Words: []string{"sh", "-c", program, count, "--token=" + key}}, backends.Place{})
		if err != nil {
			t.Fatal(err)
		}
		set := &secret.Set{}
		set.Add("trainer", key)
		return submit.Run(secret.With(t.Context(), set), opts)
	}
	first, err := with("first-key-of-the-trainer")
	if err != nil {
		t.Fatal(err)
	}
	again, err := with("second-key-of-the-trainer")
	if err != nil || !again.Attached || again.Identity != first.Identity {
		t.Errorf("%v, attached %v, key %s after %s", err, again.Attached, again.Identity, first.Identity)
	}
	if data, err := os.ReadFile(count); err != nil || strings.Count(string(data), "x") != 1 {
		t.Errorf("trained %q: %v", data, err)
	}
}
