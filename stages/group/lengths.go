package group

import (
	"context"
	"errors"
	"io"

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
	parts *keyer // nil unless parts count

	messages *dataset.Reader[formats.Trajectory] // nil unless steps count
	rows     []formats.Trajectory
	looks    Looks
	signals  []*dataset.Reader[signalRow] // of every scores
	said     []signalRow
}

// signalRow is a row of scores with its signals alone.
type signalRow struct {
	Signals []formats.Signal `parquet:"signals,optional,list"`
}

// open begins to read a slice.
func (l *lengths) open(ctx context.Context, in *input, slice dataset.Range, e Estimator) (err error) {
	l.ctx = ctx
	if l.r, err = dataset.NewReader[Length](ctx, in.base, "", slice); err != nil {
		return err
	}
	if p, ok := e.(PartEstimator); ok {
		if l.parts, err = p.Parts().open(ctx, in.base, slice); err != nil {
			return err
		}
	}
	steps, ok := e.(StepEstimator)
	if !ok {
		return nil
	}
	l.looks = steps.Looks()
	if l.messages, err = dataset.NewReaderOf[formats.Trajectory](ctx, in.base, slice, l.looks.columns()); err != nil || !l.looks.Signals {
		return err
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
		l.signals = append(l.signals, r)
	}
	return nil
}

func (l *lengths) close() {
	_ = l.r.Close() // they were only read
	if l.parts != nil {
		l.parts.close()
	}
	if l.messages != nil {
		_ = l.messages.Close()
	}
	for _, r := range l.signals {
		_ = r.Close()
	}
}

// read returns the lengths of the next rows, valid until the next call.
func (l *lengths) read(rows int) ([]Length, error) {
	var err error
	if l.buf, err = readNext(l.r, l.buf, rows); err != nil {
		return nil, err
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
	if l.messages == nil {
		return l.buf, nil
	}
	if l.rows, err = readNext(l.messages, l.rows, rows); err != nil {
		return nil, err
	}
	signals := make([][]formats.Signal, rows)
	for _, r := range l.signals {
		if l.said, err = readNext(r, l.said, rows); err != nil {
			return nil, err
		}
		for i := range l.said {
			signals[i] = append(signals[i], l.said[i].Signals...)
		}
	}
	for i := range l.rows {
		l.buf[i].Steps = l.looks.steps(l.ctx, &l.rows[i], signals[i])
	}
	return l.buf, l.ctx.Err()
}

// eachLengths are those for each of some estimators.
type eachLengths struct {
	each []lengths
	all  [][]Length // of the last read
}

func (l *eachLengths) open(ctx context.Context, in *input, slice dataset.Range, estimators []Estimator) error {
	l.each, l.all = make([]lengths, len(estimators)), make([][]Length, len(estimators))
	for i, e := range estimators {
		if err := l.each[i].open(ctx, in, slice, e); err != nil {
			return err
		}
	}
	return nil
}

func (l *eachLengths) close() {
	for i := range l.each {
		l.each[i].close()
	}
}

func (l *eachLengths) read(rows int) (all [][]Length, err error) {
	for i := range l.each {
		if l.all[i], err = l.each[i].read(rows); err != nil {
			return nil, err
		}
	}
	return l.all, nil
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
