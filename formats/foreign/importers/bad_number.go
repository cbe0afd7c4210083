package importers

import (
	"errors"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// badNumber returns a number that no float64 holds, or one that JSON does not
// have (see jsontext.NotANumber), which readers of the JSON would refuse; "" when
// there is none.
func badNumber(text string) string {
	const short = 300 // digits without an exponent are in range
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '"' {
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			continue
		}
		if c == 'N' || c == 'I' {
			return text[i : i+max(1, jsontext.NotANumber([]byte(text[i:min(len(text), i+9)])))]
		}
		if c < '0' || c > '9' {
			continue
		}
		from, exponent := i, false
		for ; i < len(text) && strings.IndexByte("0123456789.eE+-", text[i]) >= 0; i++ {
			exponent = exponent || text[i]|0x20 == 'e'
		}
		if exponent || i-from > short {
			if _, err := strconv.ParseFloat(text[from:i], 64); errors.Is(err, strconv.ErrRange) {
				return text[from:i]
			}
		}
		i--
	}
	return ""
}
