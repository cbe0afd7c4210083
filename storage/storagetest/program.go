package storagetest

import (
	"os"
	"syscall"
	"testing"
)

// Program writes a program that a test starts. No process is forked while the file is
// open: a child that has it open for writing would let the start of it fail with
// "text file busy".
func Program(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(text), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}
