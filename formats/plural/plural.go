// Package plural writes counts of things and lists of numbers in messages for people: "1 row",
// "2 rows", "1, 2, 5-8". It is not for texts that are stored in rows, because digests cover
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

// maxPieces is how many numbers and ranges Numbers lists.
const maxPieces = 10

// Numbers lists ascending numbers, "1, 2, 5-8", and says how many more there are.
func Numbers(list []int) string {
	var out []string
	for i := 0; i < len(list); {
		if len(out) == maxPieces {
			out = append(out, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		end := i + 1
		for end < len(list) && list[end] == list[end-1]+1 {
			end++
		}
		if end-i > 2 {
			out = append(out, fmt.Sprintf("%d-%d", list[i], list[end-1]))
			i = end
			continue
		}
		out = append(out, strconv.Itoa(list[i]))
		i++
	}
	return strings.Join(out, ", ")
}
