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
	Part          string `parquet:"-"` // for a PartEstimator: equal in members of one part
}

// lengths reads the base in step with the rows that are grouped.
type lengths struct {
	ctx   context.Context // of the stage, which ends an expression
	r     *dataset.Reader[Length]
	buf   []Length
	parts []*keyer   // for each estimator: nil unless parts count
	looks []*Looks   // for each estimator: nil unless steps count
	all   [][]Length // of the last read, for each estimator

	messages *dataset.Reader[formats.Trajectory] // nil unless steps count
	rows     []formats.Trajectory
	signals  []*dataset.Reader[signalRow] // of every scores, if some look at signals
	said     []signalRow
	values   map[string][]continued // nil unless the values of prefixes count
	readers  []io.Closer            // all of them
}

// signalRow is a row of scores with its signals alone.
type signalRow struct {
	Signals []formats.Signal `parquet:"signals,optional,list"`
}

// open begins to read a slice for some estimators.
func (l *lengths) open(ctx context.Context, in *input, slice dataset.Range, estimators []Estimator) (err error) {
	l.ctx = ctx
	if l.r, err = dataset.NewReader[Length](ctx, in.base, "", slice); err != nil {
		return err
	}
	l.readers = append(l.readers, l.r)
	n := len(estimators)
	l.parts, l.looks, l.all = make([]*keyer, n), make([]*Looks, n), make([][]Length, n)
	var columns []string
	signals := false
	for i, e := range estimators {
		if p, ok := e.(PartEstimator); ok {
			if l.parts[i], err = p.Parts().open(ctx, in.base, slice); err != nil {
				return err
			}
			l.readers = append(l.readers, l.parts[i].rows)
		}
		if s, ok := e.(StepEstimator); ok {
			looks := s.Looks()
			if looks.Forks && l.values == nil {
				if l.values, err = in.values(ctx); err != nil {
					return err
				}
			}
			l.looks[i], signals = &looks, signals || looks.Signals
			columns = append(columns, looks.columns()...)
		}
	}
	if columns == nil {
		return nil
	}
	slices.Sort(columns)
	if l.messages, err = dataset.NewReaderOf[formats.Trajectory](ctx, in.base, slice, slices.Compact(columns)); err != nil {
		return err
	}
	if l.readers = append(l.readers, l.messages); !signals {
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

// read returns the lengths of the next rows for each estimator, valid until the next call.
func (l *lengths) read(rows int) (all [][]Length, err error) {
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
	for e := range l.all {
		l.all[e] = append(l.all[e][:0], l.buf...)
		if l.parts[e] != nil {
			parts, err := l.parts[e].read(rows)
			if err != nil {
				return nil, err
			}
			for i, part := range parts {
				l.all[e][i].Part = part
			}
		}
		if l.looks[e] != nil {
			for i := range l.rows {
				l.all[e][i].Steps = l.looks[e].steps(l.ctx, &l.rows[i], signals[i])
				if l.looks[e].Forks {
					value(l.all[e][i].Steps, l.values[l.rows[i].TrajectoryID])
				}
			}
		}
	}
	return l.all, l.ctx.Err()
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
