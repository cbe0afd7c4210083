package parquet

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

// budget counts the memory that the columns of one Reader hold, or those that copy
// rows of one row group.
type budget struct {
	limit int64
	used  atomic.Int64
	rows  int64 // of used: memory of returned rows, which is released when the next call begins
}

func (f *File) newBudget() *budget { return &budget{limit: f.budget} }

// acquire counts memory before it is allocated.
func (b *budget) acquire(n int64) error {
	if used := b.used.Add(n); used > b.limit || n < 0 {
		return badPage("it needs %d bytes of memory at once; the budget for this file is %d (512 MiB and 64 times its "+
			"size, at most 1 GiB, unless it was given another budget)", used, b.limit)
	}
	return nil
}

func (b *budget) release(n int64) { b.used.Add(-n) }

// acquireRows counts memory that returned rows use.
func (b *budget) acquireRows(n int64) error {
	b.rows += n
	return b.acquire(n)
}

// releaseRows begins a call of Read: the rows of the last call belong to the caller.
func (b *budget) releaseRows() {
	b.release(b.rows)
	b.rows = 0
}

// acquirePage counts n bytes for the column's current page; rows says that
// returned rows use them.
func (c *column) acquirePage(n int64, rows bool) error {
	c.pageBytes += n
	if rows {
		c.rowBytes += n
	}
	return c.budget.acquire(n)
}

// releasePage ends the current page.
func (c *column) releasePage() {
	c.budget.release(c.pageBytes - c.rowBytes)
	if c.rowBytes > 0 { // never when columns are read concurrently, which copies
		c.budget.rows += c.rowBytes
	}
	c.pageBytes, c.rowBytes = 0, 0
}

// releaseChunk releases what the column holds. Returned rows use its dictionary.
func (c *column) releaseChunk() {
	c.releasePage()
	c.budget.rows += c.dictBytes
	c.dictBytes = 0
}
