package score

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/dataset"
)

// answersWithParts are the versions of the stages that began to write the text
// of content parts as the answer. Before, such an answer is empty.
var answersWithParts = map[string]int{"rollout": 2, "import": 2}

// partAnswers finds the text of answers that are empty although their message has
// parts with text. Nil finds none.
type partAnswers struct {
	open   func(first int64) (*rowReader, error)
	reader *rowReader // nil until the first such row
	at     int64      // its next row
}

// openParts returns nil for rows that no stage wrote without these texts, and if
// no reward reads the answer.
func openParts(ctx context.Context, d *dataset.Dataset, r dataset.Range, rewards rewardSet) *partAnswers {
	if since, known := answersWithParts[d.Stage]; known && d.Version >= since || !slices.Contains(rewards.light(), "answer") {
		return nil
	}
	return &partAnswers{open: func(first int64) (*rowReader, error) {
		return openRows(ctx, d, dataset.Range{First: first, Rows: r.First + r.Rows - first}, answerColumns)
	}}
}

// fill sets the answers of rows, of which first is the number of the first one.
func (p *partAnswers) fill(rows []*Row, first int64) error {
	if p == nil {
		return nil
	}
	for i, row := range rows {
		if row.Answer != "" || !Scorable(row.Status) {
			continue
		}
		t := row.Trajectory
		if t.Messages == nil {
			read, err := p.row(first + int64(i))
			if err != nil {
				return err
			}
			t = read
		}
		row.Answer = partAnswer(t)
	}
	return nil
}

// partAnswer returns "" for a message without parts: then the agent's own answer
// was empty.
func partAnswer(t *formats.Trajectory) string {
	for _, i := range slices.Backward(t.Main()) {
		if m := &t.Messages[i]; m.Sampled {
			return chat.JoinedText([]byte(m.ContentParts))
		}
	}
	return ""
}

func (p *partAnswers) row(n int64) (*formats.Trajectory, error) {
	var err error
	if p.reader == nil {
		p.reader, err = p.open(n)
	} else if n > p.at {
		err = p.reader.Skip(n - p.at)
	}
	if err != nil {
		return nil, err
	}
	p.at = n + 1
	rows, err := p.reader.next(1)
	if err != nil && !errors.Is(err, io.EOF) || len(rows) == 0 {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return &rows[0], nil
}

func (p *partAnswers) close() error {
	if p == nil || p.reader == nil {
		return nil
	}
	return p.reader.Close()
}

// rowReader reads trajectories. Those that next returns are the caller's, or valid
// until it is called again if same is set.
type rowReader struct {
	*dataset.Reader[formats.Trajectory]
	out  []formats.Trajectory
	same bool // out is used again
}

// openRows reads some columns of trajectories; nil: all.
func openRows(ctx context.Context, d *dataset.Dataset, r dataset.Range, columns []string) (*rowReader, error) {
	var reader *dataset.Reader[formats.Trajectory]
	var err error
	if columns == nil {
		reader, err = dataset.NewReader[formats.Trajectory](ctx, d, "", r)
	} else {
		reader, err = dataset.NewReaderOf[formats.Trajectory](ctx, d, r, columns)
	}
	if err != nil {
		return nil, err
	}
	return &rowReader{Reader: reader}, nil
}

func (c *rowReader) next(n int) ([]formats.Trajectory, error) {
	if !c.same {
		c.out = nil
	}
	c.out = slices.Grow(c.out[:0], n)[:n]
	n, err := c.Read(c.out)
	return c.out[:n], err
}
