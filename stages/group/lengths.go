package group

import (
	"context"
	"errors"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/training"
)

// lengths reads the base in step with the rows that are grouped.
type lengths struct {
	ctx   context.Context // of the stage, which ends an expression
	r     *dataset.Reader[Length]
	buf   []Length
	parts *keyer // nil unless parts count
	looks *Looks // nil unless steps count

	messages *dataset.Reader[formats.Trajectory] // nil unless steps count
	rows     []formats.Trajectory
	signals  []*dataset.Reader[signalRow] // of every scores, if signals count
	said     []signalRow
	values   map[string][]continued // nil unless the values of prefixes count
	readers  []io.Closer            // all of them
}

// signalRow is a row of scores with its signals alone.
type signalRow struct {
	Signals []formats.Signal `parquet:"signals,optional,list"`
}

// open begins to read a slice for an estimator.
func (l *lengths) open(ctx context.Context, in *input, slice dataset.Range, e *Estimator) (err error) {
	l.ctx = ctx
	if l.r, err = dataset.NewReader[Length](ctx, in.base, "", slice); err != nil {
		return err
	}
	l.readers = append(l.readers, l.r)
	if e.Parts != nil {
		if l.parts, err = e.Parts.open(ctx, in.base, slice); err != nil {
			return err
		}
		l.readers = append(l.readers, l.parts.rows)
	}
	if e.Steps == nil {
		return nil
	}
	l.looks = &e.Looks
	if l.looks.Forks {
		if l.values, err = in.values(ctx); err != nil {
			return err
		}
	}
	if l.messages, err = dataset.NewReaderOf[formats.Trajectory](ctx, in.base, slice, l.looks.columns()); err != nil {
		return err
	}
	if l.readers = append(l.readers, l.messages); !l.looks.Signals {
		return nil
	}
	scores := in.more
	if in.rows != in.base {
		scores = append([]*dataset.Dataset{in.rows}, scores...)
	}
	for _, d := range scores {
		r, err := dataset.NewReader[signalRow](ctx, d, "", slice)
		if err != nil {
			return err
		}
		l.signals, l.readers = append(l.signals, r), append(l.readers, r)
	}
	return nil
}

func (l *lengths) close() {
	for _, r := range l.readers {
		_ = r.Close() // it was only read
	}
}

// read returns the lengths of the next rows, valid until the next call.
func (l *lengths) read(rows int) (_ []Length, err error) {
	if l.buf, err = readNext(l.r, l.buf, rows); err != nil {
		return nil, err
	}
	var signals [][]formats.Signal
	if l.messages != nil {
		signals = make([][]formats.Signal, rows)
		if l.rows, err = readNext(l.messages, l.rows, rows); err != nil {
			return nil, err
		}
	}
	for _, r := range l.signals {
		if l.said, err = readNext(r, l.said, rows); err != nil {
			return nil, err
		}
		for i := range l.said {
			signals[i] = append(signals[i], l.said[i].Signals...)
		}
	}
	if l.parts != nil {
		parts, err := l.parts.read(rows)
		if err != nil {
			return nil, err
		}
		for i, part := range parts {
			l.buf[i].Part = part
		}
	}
	for i := range l.rows {
		l.buf[i].Steps = l.looks.steps(l.ctx, &l.rows[i], signals[i])
		if l.looks.Forks {
			value(l.buf[i].Steps, l.values[l.rows[i].TrajectoryID])
		}
	}
	return l.buf, l.ctx.Err()
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
		if m.NoAdvantage == training.NoAdvantageFailed || m.NoAdvantage == training.NoAdvantageUnscored {
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
