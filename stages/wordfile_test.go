package stages

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWordFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"reward.py", "odd:name"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{
		"reward.py": "reward.py", "reward.py:brevity": "reward.py", "reward.py:": "reward.py", "other.py:brevity": "other.py:brevity",
		"odd:name": "odd:name", "folder:name": "folder:name", ":name": ":name", "": "", "-v": "-v",
	} {
		if got := WordFile(dir, word); got != want {
			t.Errorf("%q names %q, want %q", word, got, want)
		}
		if word == "" || word[0] == '-' || word[0] == ':' {
			continue
		}
		if got := WordFile("", filepath.Join(dir, word)); got != filepath.Join(dir, want) {
			t.Errorf("%q with its folder names %q", word, got)
		}
	}
}
