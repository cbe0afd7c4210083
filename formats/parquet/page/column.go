package page

import (
	"bytes"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// Page is a decoded data page: the levels of every entry, and the values of the
// entries that have one, in the field of their type. Levels are nil for a
// column without levels. Values other than the bytes of strings are valid until
// the next page, unless the column is kept (see column).
type Page struct {
	Entries    int
	Rows       int // -1 when the header does not say it
	Reps, Defs []byte
	Values     layout.Values
	Whole      bool // it ends at the end of a row
}

// Column decodes the pages of one chunk after another.
type Column struct {
	*layout.Node
	Codec format.CompressionCodec
	Left  int64         // entries of the chunk not yet read
	Dict  layout.Values // of the chunk
	Keep  bool          // rows keep the values: each page gets its own memory
	Lists recycler[layout.Values]

	Scratch bool // strings too are valid only until the next page
	Text    []byte
	Texts   recycler[[]byte]

	Budget    *layout.Budget
	PageBytes int64 // of the budget: of the current page
	RowBytes  int64 // of pageBytes: those that returned rows use
	DictBytes int64 // of the budget: of the dictionary, which returned rows use

	Inflated, Levels []byte
	Index            []int32
	Offsets          []uint32
	Spare            layout.Values
}

// Next decodes the next data page of a chunk, and the dictionary before it. It
// returns io.EOF at the end.
func (c *Column) Next(w *Window, raw *RawPage, p *Page) error {
	for {
		if err := w.Next(raw); err != nil {
			return err
		}
		switch raw.Header.Type {
		case format.DictionaryPage:
			if err := c.Dictionary(raw); err != nil {
				return err
			}
		case format.DataPage, format.DataPageV2:
			return c.data(raw, p)
		}
	}
}

// Dictionary decodes a dictionary page.
func (c *Column) Dictionary(raw *RawPage) error {
	h := &raw.Header
	n := int(h.DictionaryPageHeader.V.NumValues)
	if !h.DictionaryPageHeader.Valid || n < 0 || n > MaxValues {
		return layout.BadPage("a dictionary of %d values", n)
	}
	c.releasePage()
	data, err := c.inflate(raw.body, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	c.Dict = layout.Values{}
	err = c.direct(&c.Dict, data, format.Plain, n, true)
	c.DictBytes += c.PageBytes // until the end of the chunk
	c.PageBytes, c.RowBytes = 0, 0
	return err
}

func (c *Column) data(raw *RawPage, p *Page) error {
	h := &raw.Header
	c.releasePage()
	var err error
	var data []byte
	var enc format.Encoding
	if h.Type == format.DataPageV2 {
		data, enc, err = c.levelsV2(raw, p)
	} else {
		data, enc, err = c.levelsV1(raw, p)
	}
	if err != nil {
		return err
	}
	c.Left -= int64(p.Entries)
	n := p.Entries
	if c.Def > 0 {
		n = count(p.Defs, byte(c.Def))
	}
	if c.Keep {
		c.Lists.Retire(c.Spare)
		c.Spare = c.Lists.get()
	}
	p.Values = c.Spare
	err = c.decode(&p.Values, data, enc, n)
	c.Spare = p.Values
	return err
}

// entries checks the number of entries that a page claims.
func (c *Column) entries(n int32) (int, error) {
	if n < 0 || int64(n) > c.Left || n > MaxValues {
		return 0, layout.BadPage("%d entries where %d are left", n, c.Left)
	}
	return int(n), nil
}

// Present returns the number of values of entries [from, to).
func (p *Page) Present(c *Column, from, to int) int {
	if p.Defs == nil {
		return to - from
	}
	return count(p.Defs[from:to], byte(c.Def))
}

// Entry returns the index of the entry at which the row begins that is n rows
// after the one at an entry.
func (p *Page) Entry(at int, n int64) int {
	if p.Reps == nil {
		return at + int(n)
	}
	at += skipRows(p.Reps[at+1:], &n)
	for ; n > 0; n-- {
		next := bytes.IndexByte(p.Reps[at+1:], 0)
		if next < 0 {
			return p.Entries
		}
		at += 1 + next
	}
	return at
}

// skipRows passes levels of at most n rows, and subtracts those that begin there,
// as long as rows are short: then counting many is faster than finding each.
func skipRows(reps []byte, n *int64) (at int) {
	for *n >= 8 && len(reps)-at >= 8 {
		some := reps[at : at+int(min(*n, int64(len(reps)-at)))]
		begin := int64(bytes.Count(some, []byte{0}))
		at += len(some)
		if *n -= begin; begin < int64(len(some))/16 {
			break
		}
	}
	return at
}

// acquirePage counts n bytes for the column's current page; rows says that returned rows use them.
func (c *Column) acquirePage(n int64, rows bool) error {
	c.PageBytes += n
	if rows {
		c.RowBytes += n
	}
	return c.Budget.Acquire(n)
}

// releasePage ends the current page.
func (c *Column) releasePage() {
	c.Budget.Release(c.PageBytes - c.RowBytes)
	if c.RowBytes > 0 { // never when columns are read concurrently, which copies
		c.Budget.Rows += c.RowBytes
	}
	c.PageBytes, c.RowBytes = 0, 0
}

// ReleaseChunk releases what the column holds. Returned rows use its dictionary.
func (c *Column) ReleaseChunk() {
	c.releasePage()
	c.Budget.Rows += c.DictBytes
	c.DictBytes = 0
}
