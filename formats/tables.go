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

// Along walks along a table, beside who ranges over the batch's groups. It
// holds one row, however many there are. A nil one has no rows.
type Along[T any] struct {
	next  func() (T, error, bool)
	stop  func()
	group func(*T) string
	row   T
	have  bool
}

// NewAlong begins a walk; it is nil when there is no table.
func NewAlong[T any](rows iter.Seq2[T, error], group func(*T) string) *Along[T] {
	if rows == nil {
		return nil
	}
	a := &Along[T]{group: group}
	a.next, a.stop = iter.Pull2(rows)
	return a
}

// AlongPairs walks along the pairs.
func (t Tables) AlongPairs() *Along[Pair] {
	return NewAlong(t.Pairs, func(p *Pair) string { return p.GroupID })
}

// AlongLabels walks along the labels.
func (t Tables) AlongLabels() *Along[Label] {
	return NewAlong(t.Labels, func(l *Label) string { return l.GroupID })
}

// Of calls f with each row of a group. Groups are asked for in the batch's
// order, each of them.
func (a *Along[T]) Of(group string, f func(*T) error) error {
	for a != nil {
		row, err := a.peek()
		if err != nil || row == nil || a.group(row) != group {
			return err
		}
		a.have = false
		if err := f(row); err != nil {
			return err
		}
	}
	return nil
}

func (a *Along[T]) peek() (*T, error) {
	if !a.have {
		row, err, more := a.next()
		if err != nil || !more {
			return nil, err
		}
		a.row, a.have = row, true
	}
	return &a.row, nil
}

// End is an error when rows are left: they are of no group, or not where it
// was.
func (a *Along[T]) End() error {
	if a == nil {
		return nil
	}
	row, err := a.peek()
	if err != nil || row == nil {
		return err
	}
	return fmt.Errorf("the batch has pairs or labels of group %q, which are not where its rows are", a.group(row))
}

// Close ends the walk.
func (a *Along[T]) Close() {
	if a != nil {
		a.stop()
	}
}
