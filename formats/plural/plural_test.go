package plural

import "testing"

func TestOf(t *testing.T) {
	for want, got := range map[string]string{
		"0 rows": Of(0, "row"), "1 row": Of(int64(1), "row"), "2 rows": Of(2.0, "row"),
		"3 trajectories": Of(3, "trajectory"), "1 trajectory": Of(1.0, "trajectory"), "2 keys": Of(int32(2), "key"),
		"2 branches": Of(2, "branch"), "5 prompt tokens": Of(5, "prompt token"), "2 damage": Of(2, "damage"), "2 epochs": Of(2, "epoch"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestNumbersAreShort(t *testing.T) {
	for want, list := range map[string][]int{"": nil, "0-2, 5, 7, 8": {0, 1, 2, 5, 7, 8},
		"0, 2, 4, 6, 8, 10, 12, 14, 16, 18, and 3 more": {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 21, 22}} {
		if got := Numbers(list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
