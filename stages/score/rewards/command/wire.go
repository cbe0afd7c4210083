package command

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/rollmill/rollmill/formats/arrow"
	"github.com/rollmill/rollmill/stages/score"
)

// wire is the protocol of one process. Its two sides are used by two goroutines.
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
	line, err := score.RequestLine(row, s.Name, s.Seed)
	return request{line: line}, err
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
