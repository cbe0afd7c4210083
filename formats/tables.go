package formats

import (
	"fmt"
	"iter"
)

// Tables are what a batch may have beside its groups, in the order of these,
// for trainers that learn from comparisons. A nil one is not there. Each range
// reads the table anew; a row belongs to the reader.
type Tables struct {
	Pairs  iter.Seq2[Pair, error]
	Labels iter.Seq2[Label, error]
}

// GroupCursor reads a table group by group, for a caller that ranges over the
// batch's groups. It holds one row, however many there are. A nil one has no
// rows.
type GroupCursor[T any] struct {
	next  func() (T, error, bool)
	stop  func()
	group func(*T) string
	row   T
	have  bool
}

// NewGroupCursor begins at the first row; it is nil when there is no table.
func NewGroupCursor[T any](rows iter.Seq2[T, error], group func(*T) string) *GroupCursor[T] {
	if rows == nil {
		return nil
	}
	c := &GroupCursor[T]{group: group}
	c.next, c.stop = iter.Pull2(rows)
	return c
}

// PairCursor reads the pairs.
func (t Tables) PairCursor() *GroupCursor[Pair] {
	return NewGroupCursor(t.Pairs, func(p *Pair) string { return p.GroupID })
}

// LabelCursor reads the labels.
func (t Tables) LabelCursor() *GroupCursor[Label] {
	return NewGroupCursor(t.Labels, func(l *Label) string { return l.GroupID })
}

// Of calls f with each row of a group. Groups are asked for in the batch's
// order, each of them.
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

// End is an error when rows are left: they are of no group, or not where it
// was.
func (c *GroupCursor[T]) End() error {
	if c == nil {
		return nil
	}
	row, err := c.peek()
	if err != nil || row == nil {
		return err
	}
	return fmt.Errorf("the batch has pairs or labels of group %q, which are not where its rows are", c.group(row))
}

// Close ends the reading.
func (c *GroupCursor[T]) Close() {
	if c != nil {
		c.stop()
	}
}
