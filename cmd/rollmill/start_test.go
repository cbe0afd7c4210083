package main

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkStart is what a command costs before it does anything: the program
// as it is installed, with the clients of all stores linked, asked for its
// version. It is to stay under 30 ms.
func BenchmarkStart(b *testing.B) {
	bin := filepath.Join(b.TempDir(), "rollmill")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	least := time.Hour
	for b.Loop() {
		began := time.Now()
		if err := exec.Command(bin, "--version").Run(); err != nil {
			b.Fatal(err)
		}
		least = min(least, time.Since(began))
	}
	b.ReportMetric(float64(least.Microseconds())/1000, "ms/fastest") // on a machine that has other things to do, too
}
