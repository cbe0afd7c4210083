package command

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"

	"github.com/rollmill/rollmill/formats/arrow"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
)

// batches is Arrow, a stream of record batches each way.
type batches struct {
	w             *arrow.RequestWriter
	text, example string // the last row's, for the next of its group
}

func (b *batches) encode(row *score.Row, s score.Setup) (request, error) {
	if row.Example != b.text || b.text == "" {
		example, err := row.ExampleJSON()
		if err != nil {
			return request{}, err
		}
		b.text, b.example = row.Example, example
	}
	t := *row.Trajectory
	t.Example = b.example
	// The row may change once its value is settled: this may still be being written then.
	return request{arrow: arrow.Request{Trajectory: &t, Path: row.Main(), Rewards: row.Known,
		Seed: score.RowSeed(row, s.Name, s.Seed)}}, nil
}

func (b *batches) write(in io.Writer, all batch) error {
	if b.w == nil {
		b.w = arrow.NewRequestWriter(in)
	}
	rows := make([]arrow.Request, len(all))
	for i, p := range all {
		rows[i] = p.Request.arrow
	}
	return b.w.Write(rows)
}

func (b *batches) read(from io.Reader, pass func(reply)) {
	out := bufio.NewReader(from)
	for line := readText(out); line != nil; line = readText(out) {
		pass(reply{noise: bytes.TrimSpace(line)})
	}
	r := arrow.NewAnswerReader(out)
	for {
		batch, err := r.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			pass(reply{err: err})
			_, _ = io.Copy(io.Discard, out) // so that the program does not block
			return
		}
		answers := make([]score.Answer, len(batch))
		for i, a := range batch {
			answers[i] = score.Answer{ID: a.ID, Value: value(a)}
		}
		pass(reply{answers: answers})
	}
}

// readText reads a line before the stream, or a part of a long one; nil where the
// stream begins, with bytes that no text has.
func readText(out *bufio.Reader) (line []byte) {
	for len(line) < 4<<10 {
		next, _ := out.Peek(4)
		if len(next) == 0 || bytes.ContainsAny(next[:1], "\x00\xff") || len(next) == 4 && bytes.IndexByte(next, 0) >= 0 {
			break
		}
		b, _ := out.ReadByte()
		if line = append(line, b); b == '\n' {
			break
		}
	}
	return line
}

func value(a arrow.Answer) score.Value {
	switch {
	case a.Error != "":
		return score.Failed(outcomes.RewardError, "%s", a.Error)
	case a.Reward == nil:
		return score.Failed(outcomes.RewardError, "the reward is null and no error says why")
	}
	for _, n := range append([]float64{*a.Reward}, a.Shaped...) {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return score.Failed(outcomes.RewardNotFinite, "%v: NaN and infinities are no rewards", n)
		}
	}
	return score.Value{Reward: *a.Reward, Shaped: a.Shaped}
}
