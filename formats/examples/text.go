package examples

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
)

var bom = []byte("\xef\xbb\xbf")

// skipBOM passes over a UTF-8 byte order mark and refuses UTF-16, which some
// programs save as "Unicode text".
func skipBOM(name string, r *bufio.Reader) error {
	head, _ := r.Peek(3) // what cannot be read now is an error of the next read
	if len(head) >= 2 && (head[0] == 0xff && head[1] == 0xfe || head[0] == 0xfe && head[1] == 0xff) {
		return formats.Invalid(name, "save the file as UTF-8", nil, "the text is UTF-16")
	}
	if bytes.Equal(head, bom) {
		_, err := r.Discard(3)
		return err
	}
	return nil
}

var errNotUTF8 = errors.New("the text is not UTF-8")

func checkUTF8(b []byte) error {
	if !utf8.Valid(b) {
		return errNotUTF8
	}
	return nil
}

// standard rewrites what Python's json module prints outside the standard -
// bare NaN, Infinity and -Infinity - as null. It returns b itself when there
// is nothing to rewrite.
func standard(b []byte) []byte {
	if !bytes.Contains(b, []byte("NaN")) && !bytes.Contains(b, []byte("Infinity")) {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		switch n := stringLen(b[i:]); {
		case n > 0:
			out = append(out, b[i:i+n]...)
			i += n
		default:
			if n = notANumber(b[i:]); n > 0 {
				out = append(out, "null"...)
				i += n
				continue
			}
			out = append(out, b[i])
			i++
		}
	}
	return out
}

// stringLen is the length of the JSON string that b begins with, or 0.
func stringLen(b []byte) int {
	if b[0] != '"' {
		return 0
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

func notANumber(b []byte) int {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(b, []byte(word)) {
			return len(word)
		}
	}
	return 0
}

// lineAt says on which line the byte at offset lies.
func lineAt(b []byte, offset int64) string {
	offset = min(max(offset, 0), int64(len(b)))
	return fmt.Sprintf("line %d", 1+bytes.Count(b[:offset], []byte("\n")))
}
