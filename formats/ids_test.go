package formats

import (
	"strconv"
	"testing"
)

// Stored datasets contain ids and are joined by them: these values may never
// change.
func TestIDsAreStable(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{TrajectoryID("run", "example", 0, 0), "fe16357f8a1c446179595333"},
		{TrajectoryID("run", "example", 0, 1), "0777d3028396723a7de0e3bb"},
		{TrajectoryID("run", "example", 1, 0), "65d0bc9579a1966565e18398"},
		{TrajectoryID("", "", 0, 0), "9eff71a8606019d11c7ff783"},
		{GroupID("example", 3), "example@3"},
		{strconv.FormatInt(Seed(1), 10), "1682800863361854040"},
		{strconv.FormatInt(Seed(1, "t", "call", "0"), 10), "1781124076636859929"},
		{strconv.FormatInt(Seed(-1, "t"), 10), "9222163823822705237"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestIDsSeparateTheirParts(t *testing.T) {
	if TrajectoryID("a", "bc", 0, 0) == TrajectoryID("ab", "c", 0, 0) {
		t.Error("run and example run together")
	}
	if TrajectoryID("a", "b", 1, 11) == TrajectoryID("a", "b", 11, 1) {
		t.Error("epoch and generation run together")
	}
	if Seed(1, "ab") == Seed(1, "a", "b") {
		t.Error("names run together")
	}
	for i := range int64(1000) {
		if Seed(i, "x") < 0 {
			t.Fatalf("seed of %d is negative", i)
		}
	}
}

func TestAShareIsHeldOut(t *testing.T) {
	n, same := 0, 0
	for e := range 1000 {
		id := "example-" + strconv.Itoa(e)
		if HeldOut(1, 0, id) || !HeldOut(1, 1, id) {
			t.Fatal(id)
		}
		held := HeldOut(1, 0.3, id)
		if held {
			n++
		}
		if held == HeldOut(2, 0.3, id) {
			same++
		}
	}
	if n < 250 || n > 350 || same > 700 {
		t.Errorf("%d held out, %d the same by another seed", n, same)
	}
}
