package parquet

import "sync/atomic"

// A file of a few hundred bytes may claim pages of millions of values, because
// run lengths and zstd can encode them. So reading a file has a budget: the
// memory of the current pages and dictionaries of all columns, and of the rows
// of one call of Read. It grows with the file, since a page of ordinary text
// shrinks to a tenth, and rarely to a hundredth; and it is small enough for a
// machine of 4 GiB, where the garbage collector needs as much again.
const (
	budgetBase = 512 << 20 // a page of the largest size twice: uncompressed, and as text
	budgetRate = 64        // bytes for each byte of the file
	budgetMost = 1 << 30
)

// Budget sets the number of bytes that each reader of the file may hold at once
// and return in one call of Read. By default it is 512 MiB plus 64 times the
// file's size, at most 1 GiB. A file that needs more is a formats.InputError
// that names the budget. Call it before NewReader.
func (f *File) Budget(bytes int64) { f.budget = bytes }

func defaultBudget(size int64) int64 {
	return min(budgetBase+budgetRate*min(size, budgetMost/budgetRate), budgetMost)
}

// budget is the remaining budget of one Reader, or of copying rows of one row
// group: their columns share it.
type budget struct {
	limit  int64
	used   atomic.Int64
	handed int64 // of used: memory of returned rows, which is released when the next call begins
}

func (f *File) newBudget() *budget { return &budget{limit: f.budget} }

// take claims memory before it is allocated.
func (b *budget) take(n int64) error {
	if used := b.used.Add(n); used > b.limit || n < 0 {
		return badPage("it needs %d bytes of memory at once; the budget for this file is %d (512 MiB and 64 times its "+
			"size, at most 1 GiB, unless it was given another budget)", used, b.limit)
	}
	return nil
}

func (b *budget) give(n int64) { b.used.Add(-n) }

// hand claims memory that returned rows keep.
func (b *budget) hand(n int64) error {
	b.handed += n
	return b.take(n)
}

// next begins a call of Read: the rows of the last call belong to the caller.
func (b *budget) next() {
	b.give(b.handed)
	b.handed = 0
}

// holding is what a column has claimed from a budget.
type holding struct {
	*budget
	page  int64 // for the current page
	kept  int64 // of page: kept by rows
	words int64 // for the dictionary: kept by rows
}

// claim takes n bytes for the current page; keep says that rows keep them.
func (h *holding) claim(n int64, keep bool) error {
	h.page += n
	if keep {
		h.kept += n
	}
	return h.take(n)
}

// turn ends the current page.
func (h *holding) turn() {
	h.give(h.page - h.kept)
	if h.kept > 0 { // never when columns are read concurrently, which copies
		h.handed += h.kept
	}
	h.page, h.kept = 0, 0
}

// end releases what the column holds.
func (h *holding) end() {
	h.turn()
	h.handed += h.words
	h.words = 0
}
