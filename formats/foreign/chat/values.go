package chat

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// withoutNulls returns JSON in which no object has a member that is null. Arrow
// and datasets give every object of a column the keys of all others, with null
// for those that a row lacks.
func withoutNulls(v []byte) []byte {
	if !bytes.Contains(v, []byte("null")) {
		return v
	}
	return appendWithoutNulls(make([]byte, 0, len(v)), v)
}

// merged reports whether an object has a null as Arrow adds them: of any member
// but one that programs write as null.
func merged(object []byte, but string) bool {
	if !bytes.Contains(object, []byte("null")) {
		return false
	}
	for key, v := range jsontext.Members(object) {
		if string(v) == "null" && string(key) != but {
			return true
		}
	}
	return false
}

func appendWithoutNulls(b, v []byte) []byte {
	switch v[0] {
	case '{':
		b = append(b, '{')
		first := len(b)
		for i := jsontext.Space(v, 1); i < len(v) && v[i] == '"'; i = jsontext.Space(v, i+1) {
			end := jsontext.Skip(v, i)
			key := v[i:end]
			i = jsontext.Space(v, jsontext.Space(v, end)+1)
			end = jsontext.Skip(v, i)
			if value := v[i:end]; string(value) != "null" {
				if len(b) > first {
					b = append(b, ',')
				}
				b = appendWithoutNulls(append(append(b, key...), ':'), value)
			}
			i = jsontext.Space(v, end)
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		first := len(b)
		for e := range jsontext.Elements(v) {
			if len(b) > first {
				b = append(b, ',')
			}
			b = appendWithoutNulls(b, e)
		}
		return append(b, ']')
	}
	return append(b, v...)
}

// Truth returns a value that is true or false: a bool, a number, which is false
// when it is 0, or one of them as text, as CSV has it. ok is false for others,
// and for a number that is neither 0 nor 1.
func Truth(v []byte) (on, ok bool) {
	switch strings.ToLower(scalar(v)) {
	case "true", "1", "1.0":
		return true, true
	case "false", "0", "0.0":
		return false, true
	}
	return true, false
}

// scalar returns a text's content, and every other value as it is written.
func scalar(v []byte) string {
	if len(v) > 0 && v[0] == '"' {
		return strings.TrimSpace(jsontext.Unquote(v))
	}
	return string(v)
}

// Number returns a number, or a text with one, as CSV has it; true is 1 and
// false 0. nil stands for null and an empty text.
func Number(v []byte) (*float64, error) {
	text := scalar(v)
	switch text {
	case "", "null":
		return nil, nil
	case "true", "True", "false", "False":
		x := value(text[0]|0x20 == 't')
		return &x, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return nil, fmt.Errorf("%s is not a finite number", importers.Brief(v))
	}
	return &x, nil
}

// ID returns an id: a text, or a number as it is written; "" for others.
func ID(v []byte) string {
	if len(v) == 0 || !(v[0] == '"' || v[0] == '-' || '0' <= v[0] && v[0] <= '9') {
		return ""
	}
	return scalar(v)
}

// number reads an index, if it is wanted.
func number(to *int32, wanted bool, key, v []byte) error {
	if !wanted {
		return nil
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(string(v), ".0"), 10, 32)
	if err != nil || n < -1 {
		return fmt.Errorf("its %s is %s, not an index", key, importers.Brief(v))
	}
	*to = int32(n)
	return nil
}

// TokenIDs reads a list of token ids.
func TokenIDs(v []byte) ([]int32, error) {
	list, err := numbers(v)
	if err != nil {
		return nil, err
	}
	ids := make([]int32, 0, bytes.Count(list, []byte(","))+1)
	for e := range jsontext.Elements(list) {
		n, err := strconv.ParseInt(strings.TrimSuffix(string(e), ".0"), 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s is not a token id", importers.Brief(e))
		}
		ids = append(ids, int32(n))
	}
	return ids[:len(ids):len(ids)], nil
}

// Logprobs reads a list of log probabilities.
func Logprobs(v []byte) ([]float32, error) {
	list, err := numbers(v)
	if err != nil {
		return nil, err
	}
	out := make([]float32, 0, bytes.Count(list, []byte(","))+1)
	for e := range jsontext.Elements(list) {
		p, err := strconv.ParseFloat(string(e), 32)
		if err != nil {
			return nil, fmt.Errorf("%s is not a logprob", importers.Brief(e))
		}
		out = append(out, float32(p))
	}
	return out, nil
}

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

// numbers returns a list, or the list that a text contains.
func numbers(v []byte) ([]byte, error) {
	if len(v) > 0 && v[0] == '"' {
		v = []byte(strings.TrimSpace(jsontext.Unquote(v)))
	}
	if len(v) == 0 || v[0] != '[' || !jsontext.Valid(v) {
		return nil, fmt.Errorf("%s is not a list of numbers", importers.Brief(v))
	}
	return v, nil
}
