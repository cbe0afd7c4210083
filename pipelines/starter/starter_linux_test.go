package starter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFailedWriteLeavesNoFiles checks that the same command can be run again after a file could not be written: here its path is
// too long, and those of the files before it are not.
func TestFailedWriteLeavesNoFiles(t *testing.T) {
	const longest = 4095 // bytes of a path
	c := Choices{Agent: "python", Engine: "sandbox", Trainer: "sandbox", Model: "m"}
	made, err := c.files()
	if err != nil {
		t.Fatal(err)
	}
	folder, room := t.TempDir(), 1+len("rollmill.schema.json")
	for len(folder) < longest-room-200 {
		folder = filepath.Join(folder, strings.Repeat("a", 100))
	}
	folder = filepath.Join(folder, strings.Repeat("b", longest-room-len(folder)))
	if _, err := c.Write(folder); err == nil {
		t.Fatalf("%d files were written", len(made))
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}
