package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/rollmill/rollmill/formats/arrow"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
)

// wire is the protocol of one process. Its two sides are used by two
// goroutines.
type wire interface {
	// encode encodes a row's request; the error is the row's.
	encode(row *score.Row, s score.Setup) (request, error)
	write(in io.Writer, all batch) error
	// read passes answers on until the output ends.
	read(out io.Reader, pass func(reply))
}

// request is a row's, in one of the protocols.
type request struct {
	line  []byte
	arrow arrow.Request
}

// reply is some answers, or why no more valid ones follow, or a line of output
// that is no answer.
type reply struct {
	answers []score.Answer
	err     error
	noise   []byte
}

// lines is JSON, a line for each row and for each answer.
type lines struct{}

const (
	maxLine  = 16 << 20 // bytes of one answer
	maxNoise = 1000     // lines that are no answer, before the next that is one
)

func (lines) encode(row *score.Row, s score.Setup) (request, error) {
	r, err := score.NewRequest(row, s.Name, s.Seed)
	if err != nil {
		return request{}, err
	}
	line, err := json.Marshal(r)
	return request{line: append(line, '\n')}, err
}

func (lines) write(in io.Writer, all batch) error {
	for _, p := range all {
		if _, err := in.Write(p.Request.line); err != nil {
			return err
		}
	}
	return nil
}

func (lines) read(out io.Reader, pass func(reply)) {
	scanner := bufio.NewScanner(out)
	scanner.Buffer(make([]byte, 64<<10), maxLine)
	for scanner.Scan() {
		line := bytes.TrimSpace(scanner.Bytes())
		if len(line) == 0 {
			continue
		}
		if line[0] != '{' {
			pass(reply{noise: bytes.Clone(line)})
			continue
		}
		answer, err := score.ReadAnswer(scanner.Bytes())
		pass(reply{answers: []score.Answer{answer}, err: err})
	}
	if err := scanner.Err(); errors.Is(err, bufio.ErrTooLong) {
		pass(reply{err: fmt.Errorf("a line of its output is longer than %d MiB", maxLine>>20)})
	}
}

// batches is Arrow, a stream of record batches each way.
type batches struct {
	w *arrow.RequestWriter

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
