package group

import (
	"context"
	"errors"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/group/pairs"
)

// groupWriter converts rows to members, one group after the other.
type groupWriter struct {
	ctx     context.Context
	in      *input
	tally   *tally
	grouper Grouper
	members *shards.TableWriter[formats.Member]
	groups  *shards.TableWriter[formats.GroupStats]
	meter   *stages.Meter

	lengths   lengths
	pairer    *pairs.Writer                       // nil without pairs and labels
	messages  *dataset.Reader[formats.Trajectory] // of the base, for it
	said      []formats.Trajectory
	adjacency *adjacency
	buf       []formats.Member // of groups that are not written yet
	ends      []int            // of each of them in buf
	first     int64            // row of the base of the first of them
	stats     []formats.GroupStats

	copied *shards.ColumnSource // the scores whose columns members repeat; nil if they do not repeat those of one dataset
	until  int                  // rows of buf that are a row group of it; 0 for none
}

// groupAdjacent reads a slice whose groups have adjacent rows; otherwise it returns
// errScattered.
func (j *job) groupAdjacent(ctx context.Context) error {
	s := &groupWriter{
		ctx: ctx, in: j.in, tally: j.tally, grouper: j.grouper(),
		members: j.members(), groups: j.groups(), meter: j.meter, adjacency: newAdjacency(j.o),
	}
	defer s.adjacency.close()
	if j.in.rows.Kind == schema.KindScores && len(j.in.more) == 0 {
		s.copied = shards.NewColumnSource(ctx, j.in.rows)
		defer s.copied.Close()
	}
	var err error
	if err = s.lengths.open(ctx, j.in, j.slice, &j.estimator); err != nil {
		return err
	}
	defer s.lengths.close()
	if j.o.preferences() {
		s.pairer = j.pairer()
		if s.messages, err = pairs.OpenRows(ctx, j.in.base, j.slice); err != nil {
			return err
		}
		defer s.messages.Close()
	}
	if err := readRuns(ctx, j.in, j.slice, s.group); err != nil {
		return err
	}
	if err := s.adjacency.end(); err != nil {
		return err
	}
	return s.flush()
}

func (s *groupWriter) group(first int64, key string, rows []row) error {
	if err := s.adjacency.begins(key, rows[0].Epoch); err != nil {
		return err
	}
	if err := s.begin(first); err != nil {
		return err
	}
	from, id := len(s.buf), formats.GroupID(key, int(rows[0].Epoch))
	for i := range rows {
		s.buf = append(s.buf, rows[i].member(id))
	}
	members := s.buf[from:]
	tokens, err := s.lengths.read(len(rows))
	if err != nil {
		return err
	}
	stats, err := s.grouper.Fill(members, tokens)
	if err != nil {
		return s.rowError(err, members, first)
	}
	stats.FirstRow = first
	describeLengths(members, tokens, &stats)
	s.tally.add(members, &stats, &s.grouper)
	if s.pairer != nil {
		if s.said, err = readNext(s.messages, s.said, len(members)); err != nil {
			return err
		}
		if err := s.pairer.Group(s.ctx, members, s.said); err != nil {
			return err
		}
	}
	s.ends = append(s.ends, len(s.buf))
	s.stats = append(s.stats, stats)
	s.meter.Add(int64(len(rows)))
	if len(s.buf) >= max(batchRows, s.until) {
		if err := s.writeMembers(); err != nil {
			return err
		}
	}
	if len(s.stats) < 1000 {
		return nil
	}
	return s.writeStats()
}

func (s *groupWriter) flush() error { return errors.Join(s.writeMembers(), s.writeStats()) }

// begin begins a group at a row of the base. One with which a row group of the
// scores begins is the first of those that are written next.
func (s *groupWriter) begin(first int64) error {
	if s.copied != nil {
		if rows := s.copied.RowGroup(first); rows > 0 {
			if err := s.writeMembers(); err != nil {
				return err
			}
			s.first, s.until = first, int(rows)
		}
	}
	return nil
}

func (s *groupWriter) writeMembers() (err error) {
	if s.until > 0 && len(s.buf) == s.until {
		err = s.members.CopyColumns(s.ctx, s.copied, s.first, s.buf, s.ends)
	} else {
		err = s.members.WriteGroups(s.ctx, s.buf, s.ends)
	}
	clear(s.buf) // they hold the memory of rows
	s.buf, s.ends, s.until = s.buf[:0], s.ends[:0], 0
	return err
}

func (s *groupWriter) writeStats() error {
	err := s.groups.Write(s.ctx, s.stats)
	s.stats = s.stats[:0]
	return err
}

// rowError adds the row to the error of a member.
func (s *groupWriter) rowError(err error, members []formats.Member, first int64) error {
	var bad *BadMember
	if !errors.As(err, &bad) {
		return err
	}
	return s.in.badMember(bad, members[bad.Member].TrajectoryID, first+int64(bad.Member))
}
