package exporters

import "strings"

const hexDigits = "0123456789abcdef"

// FileName returns an id as the name of a file: letters, digits and -_. stand
// for themselves, a dot not at the beginning; every other byte is ~ and two hex
// digits. Different ids have different names; on a disk that ignores case, those
// that differ in case only may collide, which Create reports.
func FileName(id string) string {
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'~', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	if b.Len() == 0 {
		return "~"
	}
	return b.String()
}
