// Package plural writes counts of things in messages for people: "1 row",
// "2 rows". It is not for texts that are stored in rows, because digests cover
// these. (go-humanize's english package writes 1,536, which scripts that read
// messages do not expect.)
package plural

import (
	"fmt"
	"strconv"
	"strings"
)

// Of returns a count and its noun, which is given in the singular.
func Of[N int | int32 | int64 | float64](n N, noun string) string {
	if n != 1 {
		noun = many(noun)
	}
	return strconv.FormatInt(int64(n), 10) + " " + noun
}

// many returns the plural of a noun.
func many(noun string) string {
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case noun == "damage": // has no plural
		return noun
	case y && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e"):
		return stem + "ies"
	case strings.HasSuffix(noun, "ch") && noun != "epoch":
		return noun + "es"
	}
	return noun + "s"
}

// Ranges returns ascending numbers, of which so many adjacent ones are a range: "1, 2, 5-8".
func Ranges(list []int, dash string, fewest int) string {
	var out []string
	for i := 0; i < len(list); {
		n := 1
		for i+n < len(list) && list[i+n] == list[i]+n {
			n++
		}
		if n < fewest {
			out, i = append(out, strconv.Itoa(list[i])), i+1
			continue
		}
		out, i = append(out, strconv.Itoa(list[i])+dash+strconv.Itoa(list[i+n-1])), i+n
	}
	return strings.Join(out, ", ")
}

// Bytes returns a number of bytes for people, in decimal units as disks are sold.
func Bytes(n int64) string {
	if n < 1000 {
		return Of(n, "byte")
	}
	v := float64(n)
	for _, unit := range []string{"kB", "MB", "GB"} {
		if v /= 1000; v < 999.95 {
			return fmt.Sprintf("%.1f %s", v, unit)
		}
	}
	return fmt.Sprintf("%.1f TB", v/1000)
}
