package art

import "bytes"

// FixNumbers replaces the NaN and Infinity that Python's encoder prints by
// null, outside strings, and returns how many it replaced.
func FixNumbers(line []byte) ([]byte, int) {
	if !bytes.Contains(line, []byte("NaN")) && !bytes.Contains(line, []byte("Infinity")) {
		return line, 0
	}
	out, fixed, quoted := make([]byte, 0, len(line)+16), 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\' && i+1 < len(line):
			out = append(out, c, line[i+1])
			i++
		case !quoted && notFinite(line[i:]) > 0:
			out = append(out, "null"...)
			i += notFinite(line[i:]) - 1
			fixed++
		default:
			quoted = quoted != (c == '"')
			out = append(out, c)
		}
	}
	return out, fixed
}

func notFinite(b []byte) int {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(b, []byte(word)) {
			return len(word)
		}
	}
	return 0
}
