package score

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/storage/fault"
)

// source reads a range of trajectories, with the needed columns, and with the
// rewards that earlier scores gave to each.
type source struct {
	place    string // for errors
	answer   string // column of the reference answers; "" for the default
	base     *rowReader
	stored   *rowReader      // the rewards with which trajectories came; nil when no reward reads them
	scores   *scoreReader    // to carry forward; nil without
	copied   *scoreReader    // whose rows are carried over; nil without
	extended *extendedScores // the same, of a dataset that the base extends; nil without
	first    int64           // row of the next trajectory
	pending  []*Row          // read, but its group may continue
	ended    bool
	rows     []Row  // nil, or used again by every read
	pointers []*Row // to each of them
}

// reuse makes read use the memory of the rows that it returned before. Without it,
// thin rows take 1.5 times the processor time: see spans.go.
func (s *source) reuse() {
	s.rows = []Row{}
	s.base.same = true
	if s.stored != nil {
		s.stored.same = true
	}
}

func (s *source) skip(to int64) error {
	rows := to - s.first
	if rows <= 0 {
		return nil
	}
	s.first = to
	err := s.base.Skip(rows)
	if s.stored != nil && err == nil {
		err = s.stored.Skip(rows)
	}
	return errors.Join(err, s.scores.skip(rows), s.copied.skip(rows))
}

func openSource(ctx context.Context, in *input, r dataset.Range, rewards rewardSet) (*source, error) {
	base, err := openRows(ctx, in.base, r, rewards.columns())
	if err != nil {
		return nil, err
	}
	s := &source{place: in.base.URI(), base: base, first: r.First, answer: in.base.Columns.Answer}
	if rewards.stored() {
		s.stored, err = openRows(ctx, in.base, r, storedColumns)
	}
	if in.scores != nil && err == nil {
		s.scores, err = openScoreReader(ctx, in.scores, r)
	}
	switch {
	case in.copies == nil || err != nil:
	case in.copies.extended:
		s.extended, err = openExtended(ctx, in.copies.Dataset, in.base, r)
	default:
		s.copied, err = openScoreReader(ctx, in.copies.Dataset, r)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *source) close() error {
	var stored error
	if s.stored != nil {
		stored = s.stored.Close()
	}
	s.extended.close()
	return errors.Join(s.base.Close(), stored, s.scores.close(), s.copied.close())
}

// batch returns the next whole groups, about n rows or one larger group; none after the last.
func (s *source) batch(n int) ([]*Row, error) {
	rows := s.pending
	s.pending = nil
	for !s.ended {
		more, err := s.read(n)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
		if cut := lastOfRows(rows); !s.ended && len(rows) >= n && cut > 0 {
			s.pending = rows[cut:]
			return rows[:cut:cut], nil
		}
	}
	return rows, nil
}

// short returns the error of a base that ends before a range does.
func (s *source) short(r dataset.Range) error {
	return fault.Invalid(s.place, "", nil, "its rows end at %d, before %d", s.first, r.First+r.Rows)
}

// lastOfRows returns the index at which the last group among rows begins.
func lastOfRows(rows []*Row) int {
	i := len(rows) - 1
	for i > 0 && groupOf(rows[i-1]) == groupOf(rows[i]) {
		i--
	}
	return i
}

// read returns the next rows, as many as there are.
func (s *source) read(n int) ([]*Row, error) {
	trajectories, err := s.base.next(n)
	if s.ended = errors.Is(err, io.EOF); err != nil && !s.ended {
		return nil, err
	}
	rows := s.rowsOf(trajectories)
	if s.stored != nil {
		with, err := s.stored.next(len(rows))
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		for i := range with {
			rows[i].Trajectory.Reward, rows[i].Rewards = with[i].Reward, with[i].Rewards
		}
	}
	if err := s.join(rows); err != nil {
		return nil, err
	}
	s.first += int64(len(rows))
	return rows, nil
}

func (s *source) rowsOf(trajectories []formats.Trajectory) []*Row {
	var all []Row
	var at []*Row
	if s.rows != nil {
		all, at = s.rows, s.pointers
	}
	all, at = slices.Grow(all[:0], len(trajectories))[:len(trajectories)], at[:0]
	for i := range all {
		all[i] = Row{Trajectory: &trajectories[i], answer: s.answer}
		at = append(at, &all[i])
	}
	if s.rows != nil {
		s.rows, s.pointers = all, at
	}
	return at
}

// join gives each row the rewards of its scores.
func (s *source) join(rows []*Row) error {
	scores, err := s.scores.next(rows, s.first)
	if err != nil {
		return err
	}
	for i := range scores {
		rows[i].Known = scores[i].Rewards
		rows[i].shaped, rows[i].signals = scores[i].ShapedRewards, scores[i].Signals
	}
	scores, err = s.copied.next(rows, s.first)
	for i := range scores {
		rows[i].copied = newCopiedRow(&scores[i])
	}
	return errors.Join(err, s.extended.join(rows, s.first))
}
