package layout

import "testing"

// The budget of no file is more than a machine of 4 GiB survives, with room for
// the garbage collector.
func TestNoBudgetFillsASmallMachine(t *testing.T) {
	for _, size := range []int64{0, 1 << 20, 1 << 30, 1 << 50} {
		if n := defaultBudget(size); n < budgetBase || n > 1<<30 {
			t.Errorf("a file of %d bytes: %d", size, n)
		}
	}
}
