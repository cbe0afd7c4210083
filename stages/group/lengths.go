package group

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// Length is what the base has that scores do not repeat.
type Length struct {
	SampledTokens int32  `parquet:"sampled_tokens,delta"`
	Steps         []Step `parquet:"-"` // for a StepEstimator
}

// lengths reads the base in step with the rows that are grouped.
type lengths struct {
	r   *dataset.Reader[Length]
	buf []Length

	messages *dataset.Reader[formats.Trajectory] // nil unless steps count
	rows     []formats.Trajectory
	states   bool
}

// open begins to read a slice.
func (l *lengths) open(ctx context.Context, base *dataset.Dataset, slice dataset.Range, e Estimator) (err error) {
	if l.r, err = dataset.NewReader[Length](ctx, base, "", slice); err != nil {
		return err
	}
	if steps, ok := e.(StepEstimator); ok {
		columns := stepColumns
		if l.states = steps.UsesStates(); l.states {
			columns = slices.Concat(stepColumns, stateColumns)
		}
		l.messages, err = dataset.NewReaderOf[formats.Trajectory](ctx, base, slice, columns)
	}
	return err
}

func (l *lengths) close() {
	_ = l.r.Close() // they were only read
	if l.messages != nil {
		_ = l.messages.Close()
	}
}

// read returns the lengths of the next rows, valid until the next call.
func (l *lengths) read(rows int) ([]Length, error) {
	var err error
	if l.buf, err = readNext(l.r, l.buf, rows); err != nil || l.messages == nil {
		return l.buf, err
	}
	l.rows, err = readNext(l.messages, l.rows, rows)
	for i := range l.rows {
		l.buf[i].Steps = stepsOf(&l.rows[i], l.states)
	}
	return l.buf, err
}

// readNext reads the next n rows of a reader that has as many, into the memory of buf
// if that is enough.
func readNext[T any](r *dataset.Reader[T], buf []T, n int) ([]T, error) {
	if cap(buf) < n {
		buf = make([]T, 2*n)
	}
	buf = buf[:n]
	if k, err := r.Read(buf); k < n {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return buf, nil
}

func describeLengths(members []formats.Member, tokens []Length, s *formats.GroupStats) {
	if s.Valid == 0 {
		return
	}
	var smallest, largest int32 = -1, 0
	for i, m := range members {
		n := tokens[i].SampledTokens
		if m.NoAdvantage == formats.NoAdvantageFailed || m.NoAdvantage == formats.NoAdvantageUnscored {
			continue
		}
		s.SampledTokens += int64(n)
		largest = max(largest, n)
		if smallest < 0 || n < smallest {
			smallest = n
		}
	}
	s.LengthMean, s.LengthMin, s.LengthMax = new(float64(s.SampledTokens)/float64(s.Valid)), &smallest, &largest
}
