package jsontext

import (
	"bufio"
	"bytes"
	"strings"
)

// Lines is Indent for readers: a text value of several lines is below its key, each of
// its lines behind a bar and without escapes. What it returns is not JSON.
func Lines(text string) string {
	indented := Indent(text)
	if !strings.Contains(indented, `\n`) || !Valid([]byte(text)) {
		return indented
	}
	var b strings.Builder
	for line := range strings.Lines(indented) {
		if !appendLines(&b, line) {
			b.WriteString(line)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// appendLines writes a line of indented JSON whose value is a text of several lines. It
// returns false for any other line, and writes nothing.
func appendLines(b *strings.Builder, line string) bool {
	data := []byte(line)
	from := Space(data, 0)
	at := from
	if end := Skip(data, at); end+1 < len(data) && data[end] == ':' {
		at = Space(data, end+1)
	}
	if at == len(data) || data[at] != '"' {
		return false
	}
	value := Unquote(data[at:Skip(data, at)])
	if !strings.Contains(value, "\n") {
		return false
	}
	if at > from {
		b.WriteString(strings.TrimRight(line[:at], " ") + "\n")
	}
	for text := range strings.SplitSeq(value, "\n") {
		b.WriteString(line[:from] + "│ " + text + "\n")
	}
	return true
}

// ReadLine returns the next line, which is valid until the next call, and io.EOF with the last one. Of
// a line of more than limit bytes it returns tooLong, and leaves the rest unread.
func ReadLine(r *bufio.Reader, limit int, tooLong error) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	for own := false; err == bufio.ErrBufferFull && len(line) <= limit; own = true {
		if !own {
			line = bytes.Clone(line)
		}
		var more []byte
		more, err = r.ReadSlice('\n')
		line = append(line, more...)
	}
	if len(line) > limit {
		return nil, tooLong
	}
	return line, err
}
