package terminal

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/plural"
)

// UnitBytes is the unit of the meter of a command that has no other.
const UnitBytes = "bytes"

// head is the text before a bar: what is done.
func (s state) head() string {
	if s.Total > 0 {
		return fmt.Sprintf("%s: %d of %d %s (%d%%)", s.name(), s.Done, s.Total, s.Unit, 100*s.Done/s.Total)
	}
	if s.Unit == UnitBytes {
		return fmt.Sprintf("%s: %s read or written", s.name(), megabytes(float64(s.Done)))
	}
	return fmt.Sprintf("%s: %d %s", s.name(), s.Done, s.Unit)
}

// tail is the text after it, which begins with a comma or is empty.
func (s state) tail() string {
	var parts []string
	say := func(when bool, format string, args ...any) {
		if when {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	say(s.rate > 0 && s.Unit != UnitBytes, "%.3g/s", s.rate)
	say(s.rate > 0 && s.Unit == UnitBytes, "%s/s", megabytes(s.rate))
	say(s.left > 0, "%s left", rounded(s.left))
	say(s.Retries > 0, "%s", plural.Of(s.Retries, "retry"))
	say(s.Spend.Tokens() > 0, "%s", plural.Of(s.Spend.Tokens(), "token"))
	say(s.Spend.Cost > 0, "cost %.4g", s.Spend.Cost)
	say(s.failed() > 0, "%d failed (%s)", s.failed(), Tally(s.Failures))
	say(s.Note != "", "%s", s.Note)
	if parts == nil {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}

// line is the state in one line.
func (s state) line() string { return s.head() + s.tail() }

// Tally returns a list of counts, the largest first.
func Tally(counts map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, counts[name])
	}
	return strings.Join(names, ", ")
}

func megabytes(n float64) string { return fmt.Sprintf("%.1f MB", n/1e6) }

// rounded returns a time left: to the second, or to the minute if it is long.
func rounded(d time.Duration) string {
	if d > 10*time.Minute {
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.Round(time.Second).String()
}
