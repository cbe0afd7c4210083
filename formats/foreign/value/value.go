// Package value reads the values of a foreign record by their type and names the
// field of each that has another. null reads as no value.
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
	"github.com/rollmill/rollmill/formats/jsontext"
)

// JSON checks a text of a record to be one JSON value in UTF-8, and returns it as
// jsontext.Reading reads it: what is lost by that is a loss of the record. What it
// returns begins with the value.
func JSON(r *importers.Record, data []byte) ([]byte, error) {
	data, err := trimmed(data)
	if err != nil {
		return nil, err
	}
	var reading jsontext.Reading
	out, ok := reading.Value(data)
	if !ok {
		return nil, cmp.Or(reading.Refused, notJSON(data))
	}
	r.LoseAll(reading.Lost)
	return out, nil
}

// Check is like JSON, but returns a text as it is, to be read again.
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

// Object checks a text of a record to be one JSON object, as JSON does.
func Object(r *importers.Record, data []byte) (jsontext.Object, error) {
	data, err := ObjectText(r, data)
	return jsontext.ParseObject(data), err
}

// ObjectText is Object, but returns the text of the object.
func ObjectText(r *importers.Record, data []byte) ([]byte, error) {
	data, err := JSON(r, data)
	if err == nil && data[0] != '{' {
		return nil, fmt.Errorf("it is %s, not an object", importers.Brief(data))
	}
	return data, err
}

// Context returns what the Context of a record says, nil for nothing.
func Context(r *importers.Record) (jsontext.Object, error) {
	if len(r.Context) == 0 {
		return nil, nil
	}
	return Object(r, r.Context)
}

// OrNull returns a value, null for a missing one.
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

// Each calls read with each value of a list. Its error says which one it is.
func Each(field string, list []byte, read func(v []byte) error) error {
	n := 0
	for v := range jsontext.Elements(list) {
		if err := read(v); err != nil {
			return fmt.Errorf("%s[%d]: %w", field, n, err)
		}
		n++
	}
	return nil
}

// Reader reads values of a record. Err is the first value that has a wrong type;
// after it, values read as missing.
type Reader struct{ Err error }

// missing reports whether there is nothing to read, and records an error when
// the value does not begin as its type does.
func (r *Reader) missing(field string, v []byte, begins byte, want string) bool {
	if len(v) == 0 || string(v) == "null" || r.Err != nil {
		return true
	}
	if v[0] != begins {
		r.fail(field, v, want)
		return true
	}
	return false
}

func (r *Reader) fail(field string, v []byte, want string) {
	r.Fail("%s is %s, not %s", field, importers.Brief(v), want)
}

// Fail records an error, unless there is one already.
func (r *Reader) Fail(format string, args ...any) {
	if r.Err == nil {
		r.Err = fmt.Errorf(format, args...)
	}
}

// Text reads a string.
func (r *Reader) Text(field string, v []byte) string {
	if r.missing(field, v, '"', "a text") {
		return ""
	}
	return jsontext.Unquote(v)
}

// ID reads a string or a number as text.
func (r *Reader) ID(field string, v []byte) string {
	if len(v) > 0 && (v[0] == '-' || '0' <= v[0] && v[0] <= '9') {
		return string(v)
	}
	return r.Text(field, v)
}

// Object reads an object.
func (r *Reader) Object(field string, v []byte) jsontext.Object {
	if r.missing(field, v, '{', "an object") {
		return nil
	}
	return jsontext.ParseObject(v)
}

// List returns an array unchanged, to be given to jsontext.Elements.
func (r *Reader) List(field string, v []byte) []byte {
	if r.missing(field, v, '[', "a list") {
		return nil
	}
	return v
}

// Number reads a finite number; nil for null.
func (r *Reader) Number(field string, v []byte) *float64 {
	if len(v) == 0 || string(v) == "null" || r.Err != nil {
		return nil
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		r.fail(field, v, "a finite number")
		return nil
	}
	return &f
}

// Whole reads a whole number; nil for null. 3.0 is whole.
func (r *Reader) Whole(field string, v []byte) *int64 {
	f := r.Number(field, v)
	if f == nil {
		return nil
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		if n = int64(*f); float64(n) != *f || math.Abs(*f) >= 1<<62 {
			r.fail(field, v, "a whole number")
			return nil
		}
	}
	return &n
}

// maxTokens is more than any call has; sums of a few do not overflow.
const maxTokens = 1 << 28

// Count reads a number of tokens; 0 for null.
func (r *Reader) Count(field string, v []byte) int32 {
	n := r.Whole(field, v)
	if n == nil {
		return 0
	}
	if *n < 0 || *n > maxTokens {
		r.fail(field, v, "a number of tokens")
		return 0
	}
	return int32(*n)
}

// IDs reads a list of token ids; nil for null.
func (r *Reader) IDs(field string, v []byte) []int32 { return listOf(r, field, v, "token id", tokenID) }

// Logprobs reads a list of log probabilities; nil for null.
func (r *Reader) Logprobs(field string, v []byte) []float32 {
	return listOf(r, field, v, "logprob", logprob)
}

func listOf[T any](r *Reader, field string, v []byte, what string, number func(v []byte) (T, bool)) []T {
	if r.missing(field, v, '[', "a list of "+what+"s") {
		return nil
	}
	out, bad := list(v, number)
	if bad != nil {
		r.fail(fmt.Sprintf("%s[%d]", field, len(out)), bad, "a "+what)
		return nil
	}
	return out
}

// list reads the numbers of a list, up to the first value that is none: bad, nil
// when all are numbers.
func list[T any](v []byte, number func(v []byte) (T, bool)) (out []T, bad []byte) {
	out = make([]T, 0, 1+bytes.Count(v, []byte{','}))
	for e := range jsontext.Elements(v) {
		n, ok := number(e)
		if !ok {
			return out, e
		}
		out = append(out, n)
	}
	return out, nil
}

func tokenID(v []byte) (int32, bool) {
	n, err := strconv.ParseInt(string(v), 10, 32)
	return int32(n), err == nil && n >= 0
}

func logprob(v []byte) (float32, bool) {
	p, err := strconv.ParseFloat(string(v), 32)
	return float32(p), err == nil
}

// Times is when something began and when it was done, in microseconds since 1970; 0
// for unknown times.
type Times struct{ Began, Done int64 }

// Add extends the times to another one; 0 changes nothing.
func (t *Times) Add(micros int64) {
	if micros == 0 {
		return
	}
	if t.Began == 0 || micros < t.Began {
		t.Began = micros
	}
	t.Done = max(t.Done, micros)
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
