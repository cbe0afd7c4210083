package layout

import "sync/atomic"

// A file of a few hundred bytes may claim pages of millions of values, because
// run lengths and zstd can encode them. So reading a file has a budget: the
// memory of the current pages and dictionaries of all columns, and of the rows
// of one call of Read. It grows with the file, since a page of ordinary text
// shrinks to a tenth, and rarely to a hundredth; and it is small enough for a
// machine of 4 GiB, where the garbage collector needs as much again.
const (
	budgetBase  = 512 << 20 // a page of the largest size twice: uncompressed, and as text
	budgetRate  = 64        // bytes for each byte of the file
	budgetLimit = 1 << 30
)

// defaultBudget returns the number of bytes that each reader of a file may hold at
// once and return in one call of Read. A file that needs more is a fault.Input
// that names the budget.
func defaultBudget(size int64) int64 {
	return min(budgetBase+budgetRate*min(size, budgetLimit/budgetRate), budgetLimit)
}

// Budget counts the memory that the columns of one Reader hold, or those that copy
// rows of one row group.
type Budget struct {
	limit int64
	used  atomic.Int64
	Rows  int64 // of used: memory of returned rows, which is released when the next call begins
}

func (f *File) NewBudget() *Budget { return &Budget{limit: f.Budget} }

// Acquire counts memory before it is allocated.
func (b *Budget) Acquire(n int64) error {
	if used := b.used.Add(n); used > b.limit || n < 0 {
		return BadPage("it needs %d bytes of memory at once; the budget for this file is %d (512 MiB and 64 times its "+
			"size, at most 1 GiB, unless it was given another budget)", used, b.limit)
	}
	return nil
}

// Release ends the use of memory that was acquired.
func (b *Budget) Release(n int64) { b.used.Add(-n) }

// AcquireRows counts memory that returned rows use.
func (b *Budget) AcquireRows(n int64) error {
	b.Rows += n
	return b.Acquire(n)
}

// ReleaseRows begins a call of Read: the rows of the last call belong to the caller.
func (b *Budget) ReleaseRows() {
	b.Release(b.Rows)
	b.Rows = 0
}
