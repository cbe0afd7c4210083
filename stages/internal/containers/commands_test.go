package containers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNetworkOption: only a task without a network gets none from podman and docker.
func TestNetworkOption(t *testing.T) {
	for _, none := range []bool{false, true} {
		file := filepath.Join(t.TempDir(), "words")
		program := commands{"sh", "-c", `printf '%s ' "$@" >"$0"`, file}
		if err := program.Start(t.Context(), Container{Name: "name", Image: "image", NoNetwork: none}); err != nil {
			t.Fatal(err)
		}
		words, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(words), " --network none ") != none || strings.Contains(string(words), "--network") != none {
			t.Errorf("%v: %s", err, words)
		}
	}
}
