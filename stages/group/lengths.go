package group

import (
	"errors"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// Length is the one column of the base that scores do not repeat.
type Length struct {
	SampledTokens int32 `parquet:"sampled_tokens,delta"`
}

// lengths reads the base in step with the rows that are grouped.
type lengths struct {
	r   *dataset.Reader[Length]
	buf []Length
}

// read returns the lengths of the next rows, valid until the next call.
func (l *lengths) read(rows int) ([]Length, error) {
	var err error
	l.buf, err = readNext(l.r, l.buf, rows)
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
