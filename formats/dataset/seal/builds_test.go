package seal

import "testing"

func TestNumbersAreShort(t *testing.T) {
	if got := numbers([]int{0, 1, 2, 5, 7, 8}); got != "0-2, 5, 7, 8" {
		t.Error(got)
	}
}
