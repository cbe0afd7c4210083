package jsontext

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
)

// Unquote decodes a JSON string; "" for any other value.
func Unquote(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if utf8.Valid(raw) {
		inner := raw[1 : len(raw)-1]
		if bytes.IndexByte(raw, '\\') < 0 {
			return string(inner)
		}
		if s, ok := unescape(inner); ok && raw[len(raw)-1] == '"' {
			return s
		}
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// View is like Unquote, but the text may be a part of raw, which then must not change any more.
func View(raw []byte) string {
	if len(raw) < 3 || raw[0] != '"' || bytes.IndexByte(raw, '\\') >= 0 || !utf8.Valid(raw) {
		return Unquote(raw)
	}
	return formats.Text(raw[1 : len(raw)-1])
}

// simple are the characters of the escapes of one letter.
var simple = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape decodes the inside of a string; false for an invalid escape.
func unescape(s []byte) (string, bool) {
	var b strings.Builder
	b.Grow(len(s))
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			i = len(s)
		}
		b.Write(s[:i])
		if s = s[i:]; len(s) == 0 {
			return b.String(), true
		}
		n := escape(s)
		switch n {
		case 0:
			return "", false
		case 2:
			b.WriteByte(simple[s[1]])
		default:
			r := hex4(s)
			if utf16.IsSurrogate(r) {
				next := rune(utf8.RuneError)
				if rest := s[n:]; len(rest) > 0 && rest[0] == '\\' && escape(rest) == 6 {
					next = utf16.DecodeRune(r, hex4(rest))
				}
				if r = next; r != utf8.RuneError {
					n += 6
				}
			}
			b.WriteRune(r)
		}
		s = s[n:]
	}
}

// hex4 returns the value of a valid escape \uXXXX.
func hex4(s []byte) rune {
	r, _ := strconv.ParseUint(string(s[2:6]), 16, 32)
	return rune(r)
}
