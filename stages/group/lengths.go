package group

import (
	"errors"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// length is the one column of the base that scores do not repeat.
type length struct {
	SampledTokens int32 `parquet:"sampled_tokens,delta"`
}

// lengths walks along the base beside the rows that are grouped.
type lengths struct {
	r   *dataset.Reader[length]
	buf []length
}

// describe reads the lengths of the next members and sums up the valid ones'.
func (l *lengths) describe(members []formats.Member, s *formats.GroupStats) error {
	if cap(l.buf) < len(members) {
		l.buf = make([]length, 2*len(members))
	}
	l.buf = l.buf[:len(members)]
	if n, err := l.r.Read(l.buf); n < len(l.buf) {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	if s.Valid == 0 {
		return nil
	}
	var least, most int32 = -1, 0
	for i, m := range members {
		n := l.buf[i].SampledTokens
		if m.NoAdvantage == formats.NoAdvantageFailed || m.NoAdvantage == formats.NoAdvantageUnscored {
			continue
		}
		s.SampledTokens += int64(n)
		most = max(most, n)
		if least < 0 || n < least {
			least = n
		}
	}
	mean := float64(s.SampledTokens) / float64(s.Valid)
	s.LengthMean, s.LengthMin, s.LengthMax = &mean, &least, &most
	return nil
}
