// Package value reads what the records of several formats have: messages, choices, content,
// tools, times, and the values of tables. Package must reads the values themselves; what
// does not return an error here ends the reading of the record, as its functions do.
package value

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// JSON reads a text of a record that must be one JSON value in UTF-8, as jsontext.Reading
// reads it: what is lost by that is a loss of the record. What it returns begins with the
// value.
func JSON(r *importers.Record, data []byte) []byte {
	data, err := trimmed(data)
	var reading jsontext.Reading
	out, ok := []byte(nil), false
	if err == nil {
		out, ok = reading.Value(data)
	}
	if !ok {
		importers.Refuse(cmp.Or(err, reading.Refused, notJSON(data)))
	}
	r.LoseAll(reading.Lost)
	return out
}

// Check is like JSON, but returns a text as it is, to be read again, and an error.
func Check(data []byte) ([]byte, error) {
	data, err := trimmed(data)
	if err == nil && !jsontext.Valid(data) {
		err = notJSON(data)
	}
	return data, err
}

func notJSON(data []byte) error {
	return fmt.Errorf("it is not JSON, or was cut short: %s", importers.Brief(data))
}

// trimmed returns a text without the space and the mark around it.
func trimmed(data []byte) ([]byte, error) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	switch {
	case len(data) == 0:
		return nil, errors.New("the record is empty")
	case !utf8.Valid(data):
		return nil, errors.New("the text is not UTF-8")
	}
	return data, nil
}

// Object is JSON of one JSON object.
func Object(r *importers.Record, data []byte) jsontext.Object {
	return jsontext.ParseObject(ObjectText(r, data))
}

// ObjectText is Object, but returns the text of the object.
func ObjectText(r *importers.Record, data []byte) []byte {
	data = JSON(r, data)
	if data[0] != '{' {
		must.Fail("it is %s, not an object", importers.Brief(data))
	}
	return data
}

// Members calls f with the columns of a row as JSON reads them. When something is lost,
// again is called, and f from the beginning.
func Members(r *importers.Record, f func(key, v []byte), again func()) {
	var reading jsontext.Reading
	data, err := reading.Each(r.Data, f, again)
	if err != nil {
		importers.Refuse(err)
	}
	r.Data = data
	r.LoseAll(reading.Lost)
}

// Context returns what the Context of a record says, nil for nothing.
func Context(r *importers.Record) jsontext.Object {
	if len(r.Context) == 0 {
		return nil
	}
	return Object(r, r.Context)
}

func OrNull(v []byte) []byte {
	if len(v) == 0 {
		return []byte("null")
	}
	return v
}

// Rest yields the members of an object whose keys are not among known ones: those
// that have a column.
func Rest(o jsontext.Object, known ...string) iter.Seq[jsontext.Member] {
	return func(yield func(jsontext.Member) bool) {
		for _, f := range o {
			if !slices.Contains(known, f.Key) && !yield(f) {
				return
			}
		}
	}
}

// Without returns an object without some members, and without nulls.
func Without(o jsontext.Object, keys ...string) (out jsontext.Object) {
	for f := range Rest(o, keys...) {
		if string(f.Raw) != "null" {
			out = append(out, f)
		}
	}
	return out
}

var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999",
}

// Micros reads a time, in microseconds since 1970: a text of ISO 8601, UTC when
// it names no zone, or a number of seconds or of milliseconds. It returns 0 for
// any other value; a time that matters should be kept as written.
func Micros(v []byte) int64 {
	if len(v) == 0 {
		return 0
	}
	if v[0] == '"' {
		text := strings.TrimSpace(jsontext.Unquote(v))
		for _, layout := range layouts {
			if t, err := time.Parse(layout, text); err == nil {
				return t.UnixMicro()
			}
		}
		return 0
	}
	f, err := strconv.ParseFloat(string(v), 64)
	const year2100, year2100ms = 4.1e9, 4.1e12
	switch {
	case err != nil || f <= 0 || f > year2100ms:
		return 0
	case f > year2100:
		return int64(f * 1e3)
	}
	return int64(f * 1e6)
}

// The functions below read columns of a table, in which a value may also be a text, as in CSV.

// Truth returns a value that is true or false: a bool, a number, which is false
// when it is 0, or one of them as text, as CSV has it. ok is false for others,
// and for a number that is neither 0 nor 1.
func Truth(v []byte) (on, ok bool) {
	switch strings.ToLower(Scalar(v)) {
	case "true", "1", "1.0":
		return true, true
	case "false", "0", "0.0":
		return false, true
	}
	return true, false
}

// Scalar returns the content of a text without the space around it, and every
// other value as it is written.
func Scalar(v []byte) string {
	if len(v) > 0 && v[0] == '"' {
		return strings.TrimSpace(jsontext.Unquote(v))
	}
	return string(v)
}

// Number returns a number, or a text with one, as CSV has it; true is 1 and
// false 0. nil stands for null and an empty text.
func Number(v []byte) (*float64, error) {
	text := Scalar(v)
	switch text {
	case "", "null":
		return nil, nil
	case "true", "True", "false", "False":
		x := 0.0
		if text[0]|0x20 == 't' {
			x = 1
		}
		return &x, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return nil, fmt.Errorf("%s is not a finite number", importers.Brief(v))
	}
	return &x, nil
}

// ID returns an id: a text as it is, or a number as it is written; "" for others and for
// a text of white space.
func ID(v []byte) string {
	if len(v) == 0 || !(v[0] == '"' || v[0] == '-' || '0' <= v[0] && v[0] <= '9') {
		return ""
	}
	if Scalar(v) != "" && v[0] == '"' {
		return jsontext.Unquote(v) // "a" and " a" are two ids
	}
	return Scalar(v)
}

// TokenIDs reads a list of token ids, or a text with one.
func TokenIDs(v []byte) ([]int32, error) {
	return numbers(v, "a token id", func(v []byte) (int32, bool) { return must.TokenID(bytes.TrimSuffix(v, []byte(".0"))) })
}

// Logprobs reads a list of log probabilities, or a text with one.
func Logprobs(v []byte) ([]float32, error) { return numbers(v, "a logprob", must.Logprob) }

// Array returns the text of a list: JSON text as it is, a list as compact JSON.
func Array(v []byte) (string, error) {
	list := v
	if len(v) > 0 && v[0] == '"' {
		list = []byte(jsontext.Unquote(v))
	}
	if i := jsontext.Space(list, 0); i == len(list) || list[i] != '[' || !jsontext.Valid(list) {
		return "", fmt.Errorf("%s is not a list", importers.Brief(list))
	}
	if v[0] == '"' {
		return string(list), nil
	}
	return jsontext.Compact(list), nil
}

// numbers reads a list of numbers, or the list that a text contains.
func numbers[T any](v []byte, what string, number func(v []byte) (T, bool)) ([]T, error) {
	if len(v) > 0 && v[0] == '"' {
		v = []byte(Scalar(v))
	}
	if len(v) == 0 || v[0] != '[' || !jsontext.Valid(v) {
		return nil, fmt.Errorf("%s is not a list of numbers", importers.Brief(v))
	}
	out, bad := must.Numbers(v, number)
	if bad != nil {
		return nil, fmt.Errorf("%s is not %s", importers.Brief(bad), what)
	}
	return out[:len(out):len(out)], nil
}
