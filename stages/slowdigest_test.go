package stages

import "testing"

func TestSlowDigestsDiffer(t *testing.T) {
	a, b := SlowDigest("A", "x"), SlowDigest("A", "y")
	if !IsSlowDigest(a) || IsSlowDigest("x") {
		t.Error("a digest is not told from a value")
	}
	if a == b || a == SlowDigest("B", "x") || a != SlowDigest("A", "x") {
		t.Error("digests do not tell values and names apart")
	}
}
