package arrow

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Answer is a reward program's answer for one row.
type Answer struct {
	ID     string
	Reward *float64 // nil for null; may be NaN
	Shaped []float64
	Error  string
}

const (
	maxRows   = 1 << 20 // in one batch
	maxShaped = 1 << 16 // in one row
)

// AnswerReader reads a program's record batches: the columns id (string) and
// reward (a number or null), and if present shaped_rewards (a list of numbers)
// and error (string). It ignores other columns. It is for one goroutine.
type AnswerReader struct{ batches }

// NewAnswerReader returns a reader of r. It reads nothing until the first Read.
func NewAnswerReader(r io.Reader) *AnswerReader {
	return &AnswerReader{batches{src: bufio.NewReaderSize(r, 64<<10)}}
}

// Read returns the answers of the next batch, or io.EOF after the last. Bytes
// that are not such a stream are an error, never a panic, and take no more
// memory than the limits in framed.go.
func (a *AnswerReader) Read() (out []Answer, err error) {
	if a.r == nil {
		if _, err := a.src.Peek(1); err != nil {
			return nil, io.EOF
		}
	}
	err = a.next(func(batch arrow.RecordBatch) (err error) {
		out, err = answers(batch)
		return err
	})
	return out, err
}

func answers(batch arrow.RecordBatch) ([]Answer, error) {
	out := make([]Answer, batch.NumRows())
	seen := map[string]bool{}
	for c, f := range batch.Schema().Fields() {
		column := batch.Column(c)
		if !slices.Contains([]string{"id", "reward", "shaped_rewards", "error"}, f.Name) {
			continue
		}
		if seen[f.Name] {
			return nil, fmt.Errorf("two columns are named %s", f.Name)
		}
		seen[f.Name] = true
		for i := range out {
			if column.IsNull(i) {
				continue
			}
			if err := out[i].set(f.Name, column, i); err != nil {
				return nil, fmt.Errorf("column %s, type %s: %w", f.Name, column.DataType(), err)
			}
		}
	}
	if !seen["id"] || !seen["reward"] {
		return nil, fmt.Errorf("a batch needs the columns id and reward, it has %s", batch.Schema())
	}
	for i := range out {
		if out[i].ID == "" {
			return nil, fmt.Errorf("row %d has no id", i)
		}
	}
	return out, nil
}

func (a *Answer) set(name string, column arrow.Array, i int) (err error) {
	switch name {
	case "id":
		a.ID, err = textAt(column, i)
	case "error":
		a.Error, err = textAt(column, i)
	case "reward":
		n, err := numberAt(column, i)
		a.Reward = &n
		return err
	case "shaped_rewards":
		list, ok := column.(array.ListLike)
		if !ok {
			return errors.New("not a list")
		}
		from, to := list.ValueOffsets(i)
		if to-from > maxShaped {
			return fmt.Errorf("a list of %d", to-from)
		}
		a.Shaped = []float64{}
		for j := from; j < to && err == nil; j++ {
			n := math.NaN()
			if !list.ListValues().IsNull(int(j)) {
				n, err = numberAt(list.ListValues(), int(j))
			}
			a.Shaped = append(a.Shaped, n)
		}
	}
	return err
}

func textAt(column arrow.Array, i int) (string, error) {
	if d, ok := column.(*array.Dictionary); ok {
		return textAt(d.Dictionary(), d.GetValueIndex(i))
	}
	if s, ok := column.(array.StringLike); ok {
		return strings.Clone(s.Value(i)), nil // it outlives the batch
	}
	return "", errors.New("not text")
}

func numberAt(column arrow.Array, i int) (float64, error) {
	switch c := column.(type) {
	case *array.Float64:
		return c.Value(i), nil
	case *array.Float32:
		return float64(c.Value(i)), nil
	case *array.Int64:
		return float64(c.Value(i)), nil
	case *array.Int32:
		return float64(c.Value(i)), nil
	case *array.Boolean:
		if c.Value(i) {
			return 1, nil
		}
		return 0, nil
	}
	return 0, errors.New("not a float, an int or a bool")
}
