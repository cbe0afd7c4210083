package jsontext

import (
	"bufio"
	"bytes"
)

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
