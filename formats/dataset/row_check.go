package dataset

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage/fault"
)

// RowCheck compares the rows of a wide dataset with its manifest, for a caller
// that reads all of them in order anyway. It does the same as Verify without
// another read.
type RowCheck struct {
	d    *Dataset
	sum  formats.RowsDigest
	rows int64
}

func NewRowCheck(d *Dataset) *RowCheck { return &RowCheck{d: d} }

// Add counts the next rows.
func (c *RowCheck) Add(rows []formats.Trajectory) {
	for i := range rows {
		c.sum.Add(formats.Digest(&rows[i]))
	}
	c.rows += int64(len(rows))
}

// End returns a fault.Error when the rows are not those that the manifest describes.
func (c *RowCheck) End() error {
	const hint = "the manifest or a part was changed: make the dataset again, or put it back from a copy; `rollmill audit` " +
		"says which part it is"
	switch {
	case c.rows != c.d.Rows:
		return fault.Invalid(c.d.URI(), hint, nil, "has %d rows; the manifest says %d", c.rows, c.d.Rows)
	case !c.d.newer() && c.sum != c.d.RowsDigest:
		return fault.Invalid(c.d.URI(), hint, nil, "its rows have the digest %s; the manifest says %s", c.sum,
			c.d.RowsDigest)
	}
	return nil
}
