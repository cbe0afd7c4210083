package parquet

import (
	"github.com/parquet-go/parquet-go/format"
)

// page is a decoded data page: the levels of every entry, and the values of the
// entries that have one, in the field of their type. Levels are nil for a
// column without levels. Values other than the bytes of strings are valid until
// the next page, unless the column is kept (see column).
type page struct {
	entries    int
	rows       int // -1 when the header does not say it
	reps, defs []byte
	values     values
	whole      bool // it ends at the end of a row
}

// values has one list in use, chosen by the column's type.
type values struct {
	bools []bool
	i32   []int32
	i64   []int64
	f32   []float32
	f64   []float64
	strs  []string
}

// column decodes the pages of one chunk after another.
type column struct {
	*node
	codec format.CompressionCodec
	left  int64  // entries of the chunk not yet read
	dict  values // of the chunk
	keep  bool   // rows keep the values: each page gets its own memory
	lists recycler[values]

	scratch bool // strings too are valid only until the next page
	text    []byte
	texts   recycler[[]byte]

	budget    *budget
	pageBytes int64 // of the budget: of the current page
	rowBytes  int64 // of pageBytes: those that returned rows use
	dictBytes int64 // of the budget: of the dictionary, which returned rows use

	inflated, levels []byte
	index            []int32
	offsets          []uint32
	spare            values
}

// next decodes the next data page of a chunk, and the dictionary before it. It
// returns io.EOF at the end.
func (c *column) next(w *window, raw *rawPage, p *page) error {
	for {
		if err := w.next(raw); err != nil {
			return err
		}
		switch raw.header.Type {
		case format.DictionaryPage:
			if err := c.dictionary(raw); err != nil {
				return err
			}
		case format.DataPage, format.DataPageV2:
			return c.data(raw, p)
		}
	}
}

func (c *column) dictionary(raw *rawPage) error {
	h := &raw.header
	n := int(h.DictionaryPageHeader.V.NumValues)
	if !h.DictionaryPageHeader.Valid || n < 0 || n > maxValues {
		return badPage("a dictionary of %d values", n)
	}
	c.releasePage()
	data, err := c.inflate(raw.body, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	c.dict = values{}
	err = c.direct(&c.dict, data, format.Plain, n, true)
	c.dictBytes += c.pageBytes // until the end of the chunk
	c.pageBytes, c.rowBytes = 0, 0
	return err
}

func (c *column) data(raw *rawPage, p *page) error {
	h := &raw.header
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
	c.left -= int64(p.entries)
	n := p.entries
	if c.def > 0 {
		n = count(p.defs, byte(c.def))
	}
	if c.keep {
		c.lists.retire(c.spare)
		c.spare = c.lists.get()
	}
	p.values = c.spare
	err = c.decode(&p.values, data, enc, n)
	c.spare = p.values
	return err
}

// entries checks the number of entries that a page claims.
func (c *column) entries(n int32) (int, error) {
	if n < 0 || int64(n) > c.left || n > maxValues {
		return 0, badPage("%d entries where %d are left", n, c.left)
	}
	return int(n), nil
}
