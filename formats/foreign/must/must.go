// Package must reads the values of a foreign record by their type. null reads as no
// value. A value of another type ends the reading of the record: the error, which names
// the field, is a panic, of which importers.Format.Parse makes the record's error. So
// only the function that a format is ParsedBy, and what it calls, may use this package.
package must

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Fail ends the reading of the record.
func Fail(format string, args ...any) { importers.Refuse(fmt.Errorf(format, args...)) }

// At adds a place to the error with which the function ends that defers it.
func At(format string, args ...any) {
	if v := recover(); v != nil {
		panic(importers.Placed(v, format, args...))
	}
}

// In is At of a place that is known, at no cost where there is no error.
func In(place string) {
	if v := recover(); v != nil {
		panic(importers.Placed(v, "%s", place))
	}
}

// Try reports whether a function ends without an error.
func Try(read func()) (ok bool) {
	defer func() {
		if v := recover(); v != nil && !importers.Refused(v) {
			panic(v)
		}
	}()
	read()
	return true
}

// Each calls read with each value of a list. An error says which one it is.
func Each(field string, list []byte, read func(v []byte)) {
	n := 0
	defer func() {
		if v := recover(); v != nil {
			panic(importers.Placed(v, "%s[%d]", field, n))
		}
	}()
	for v := range jsontext.Elements(list) {
		read(v)
		n++
	}
}

// missing reports whether there is nothing to read. It fails when the value does not
// begin as its type does.
func missing(field string, v []byte, begins byte, want string) bool {
	if len(v) == 0 || string(v) == "null" {
		return true
	}
	if v[0] != begins {
		fail(field, v, want)
	}
	return false
}

func fail(field string, v []byte, want string) {
	Fail("%s is %s, not %s", field, importers.Brief(v), want)
}

func Text(field string, v []byte) string {
	if missing(field, v, '"', "a text") {
		return ""
	}
	return jsontext.Unquote(v)
}

// ID reads a string or a number as text.
func ID(field string, v []byte) string {
	if len(v) > 0 && (v[0] == '-' || '0' <= v[0] && v[0] <= '9') {
		return string(v)
	}
	return Text(field, v)
}

func Object(field string, v []byte) jsontext.Object {
	if missing(field, v, '{', "an object") {
		return nil
	}
	return jsontext.ParseObject(v)
}

// List returns an array unchanged, to be given to jsontext.Elements.
func List(field string, v []byte) []byte {
	if missing(field, v, '[', "a list") {
		return nil
	}
	return v
}

// Number reads a finite number; nil for null.
func Number(field string, v []byte) *float64 {
	if len(v) == 0 || string(v) == "null" {
		return nil
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		fail(field, v, "a finite number")
	}
	return &f
}

// Whole reads a whole number; nil for null. 3.0 is whole.
func Whole(field string, v []byte) *int64 {
	f := Number(field, v)
	if f == nil {
		return nil
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		if n = int64(*f); float64(n) != *f || math.Abs(*f) >= 1<<62 {
			fail(field, v, "a whole number")
		}
	}
	return &n
}

// Int32 is Whole of a number of 32 bits.
func Int32(field string, v []byte) *int32 {
	n := Whole(field, v)
	if n == nil {
		return nil
	}
	if *n != int64(int32(*n)) {
		fail(field, v, "a whole number of 32 bits")
	}
	return new(int32(*n))
}

// maxTokens is more than any call has; sums of a few do not overflow.
const maxTokens = 1 << 28

// Count reads a number of tokens; 0 for null.
func Count(field string, v []byte) int32 {
	n := Whole(field, v)
	if n == nil {
		return 0
	}
	if *n < 0 || *n > maxTokens {
		fail(field, v, "a number of tokens")
	}
	return int32(*n)
}

// IDs reads a list of token ids; nil for null.
func IDs(field string, v []byte) []int32 { return listOf(field, v, "token id", TokenID) }

// Logprobs reads a list of log probabilities; nil for null.
func Logprobs(field string, v []byte) []float32 { return listOf(field, v, "logprob", Logprob) }

func listOf[T any](field string, v []byte, what string, number func(v []byte) (T, bool)) []T {
	if missing(field, v, '[', "a list of "+what+"s") {
		return nil
	}
	out, bad := Numbers(v, number)
	if bad != nil {
		fail(fmt.Sprintf("%s[%d]", field, len(out)), bad, "a "+what)
	}
	return out
}

// Numbers reads the numbers of a list, up to the first value that is none: bad, nil
// when all are numbers.
func Numbers[T any](list []byte, number func(v []byte) (T, bool)) (out []T, bad []byte) {
	out = make([]T, 0, 1+bytes.Count(list, []byte{','}))
	for e := range jsontext.Elements(list) {
		n, ok := number(e)
		if !ok {
			return out, e
		}
		out = append(out, n)
	}
	return out, nil
}

// TokenID returns the token id that a value is.
func TokenID(v []byte) (int32, bool) {
	n, err := strconv.ParseInt(string(v), 10, 32)
	return int32(n), err == nil && n >= 0
}

// Logprob returns the number that a value is.
func Logprob(v []byte) (float32, bool) {
	p, err := strconv.ParseFloat(string(v), 32)
	return float32(p), err == nil
}
