package formats

import (
	"fmt"
	"iter"
)

// Tables are the optional tables of a batch and the columns of its examples, in the order of its groups, for
// trainers that learn from comparisons. A missing table is nil. Each range
// reads the table from the beginning; a row belongs to the reader.
type Tables struct {
	Columns FieldNames // of the examples, which all rows have

	Pairs  iter.Seq2[Pair, error]
	Labels iter.Seq2[Label, error]
}

// GroupCursor reads a table group by group, for a caller that iterates over the
// batch's groups. It holds one row at a time. A nil one has no rows.
type GroupCursor[T any] struct {
	next  func() (T, error, bool)
	stop  func()
	group func(*T) string
	row   T
	have  bool
}

// NewGroupCursor returns a cursor at the first row; it returns nil when there is no table.
func NewGroupCursor[T any](rows iter.Seq2[T, error], group func(*T) string) *GroupCursor[T] {
	if rows == nil {
		return nil
	}
	c := &GroupCursor[T]{group: group}
	c.next, c.stop = iter.Pull2(rows)
	return c
}

// Of calls f with each row of a group. It must be called for every group, in the batch's order.
func (c *GroupCursor[T]) Of(group string, f func(*T) error) error {
	for c != nil {
		row, err := c.peek()
		if err != nil || row == nil || c.group(row) != group {
			return err
		}
		c.have = false
		if err := f(row); err != nil {
			return err
		}
	}
	return nil
}

func (c *GroupCursor[T]) peek() (*T, error) {
	if !c.have {
		row, err, more := c.next()
		if err != nil || !more {
			return nil, err
		}
		c.row, c.have = row, true
	}
	return &c.row, nil
}

// End returns an error when rows are left: they belong to no group, or are out of order.
func (c *GroupCursor[T]) End() error {
	if c == nil {
		return nil
	}
	row, err := c.peek()
	if err != nil || row == nil {
		return err
	}
	return fmt.Errorf("the batch has pairs or labels of group %q, which are not in the order of its groups", c.group(row))
}

// Close ends the reading.
func (c *GroupCursor[T]) Close() {
	if c != nil {
		c.stop()
	}
}
