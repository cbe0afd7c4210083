package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/stages/score"
)

// Object reads a model's answer into v: one JSON object, or the last complete
// one in prose, in a code fence, or after the model's thinking.
func Object(text string, v any) error {
	if _, after, found := strings.Cut(text, "</think>"); found {
		text = after
	}
	object, err := lastObject([]byte(strings.TrimSpace(text)))
	if err != nil {
		return err
	}
	if err := jsontext.Unmarshal(object, v); err != nil {
		return fmt.Errorf("%s: %w", score.Quote(object), err)
	}
	return nil
}

// maxTries bounds the search in a text of many braces.
const maxTries = 64

func lastObject(text []byte) ([]byte, error) {
	if len(text) > 0 && text[0] == '{' && json.Valid(text) {
		return text, nil
	}
	var found []byte
	for at, tries := 0, 0; tries < maxTries; tries++ {
		brace := bytes.IndexByte(text[at:], '{')
		if brace < 0 {
			break
		}
		at += brace
		var object json.RawMessage
		d := json.NewDecoder(bytes.NewReader(text[at:]))
		if err := d.Decode(&object); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				break // cut short: a complete object within it is only a part
			}
			at++
			continue
		}
		found = object
		at += int(d.InputOffset())
	}
	if found == nil {
		return nil, fmt.Errorf("%s holds no JSON object", score.Quote(text))
	}
	return found, nil
}

// InRange returns the score to use: within the range, clamped to its end, or refused.
func (p *Panel) InRange(n *float64, low, high float64) (float64, error) {
	switch {
	case n == nil:
		return 0, errors.New("there is no score")
	case *n >= low && *n <= high:
		return *n, nil
	case p.Clamp:
		return min(max(*n, low), high), nil
	}
	return 0, fmt.Errorf("score %v is not from %v to %v", *n, low, high)
}
