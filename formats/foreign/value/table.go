package value

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// The functions below read columns of a table, in which a value may also be a
// text, as in CSV.

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
