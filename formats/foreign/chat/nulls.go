package chat

import (
	"bytes"
	"fmt"
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
