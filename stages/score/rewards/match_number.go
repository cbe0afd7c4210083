package rewards

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// numberForm is a number as people and models write it: 1,234.5 and -2e3.
var numberForm = regexp.MustCompile(`[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?`)

// lastNumber returns the last number in a text, where answers usually are.
func lastNumber(text string) (float64, bool) {
	all := numberForm.FindAllStringIndex(text, -1)
	for i := len(all) - 1; i >= 0; i-- {
		from, to := all[i][0], all[i][1]
		found := text[from:to]
		if (found[0] == '-' || found[0] == '+') && from > 0 && isDigit(text[from-1]) {
			found = found[1:] // the second half of a range or a date, 3-4
		}
		if n, err := strconv.ParseFloat(strings.ReplaceAll(found, ",", ""), 64); err == nil {
			return n, true
		}
	}
	return 0, false
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// sameNumber compares the last numbers of both texts. An answer without a
// number is wrong; a reference without one is an error.
func (s *MatchSettings) sameNumber(answer, reference string) (bool, error) {
	want, ok := lastNumber(reference)
	if !ok {
		return false, fmt.Errorf("there is no number in the reference %q", reference)
	}
	got, ok := lastNumber(answer)
	if !ok {
		return false, nil
	}
	allowed := s.Tolerance.n
	if s.Tolerance.relative {
		allowed *= math.Abs(want)
	}
	return math.Abs(got-want) <= allowed, nil
}
