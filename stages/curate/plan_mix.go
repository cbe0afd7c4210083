package curate

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// Mix is the proportions in which examples are drawn, by the value of a field.
type Mix []MixShare

// MixShare is one of them.
type MixShare struct {
	Key   string  `json:"key"`
	Share float64 `json:"share"` // relative to the others
}

// Parse reads a mix as "math=0.4,code=0.6"; an empty text is none.
func (m *Mix) Parse(texts []string) error {
	const hint = "write it as math=0.4,code=0.6; shares are relative, so math=2,code=3 is the same"
	text := strings.Join(texts, ",")
	var mix Mix
	for part := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		key, share, _ := strings.Cut(strings.TrimSpace(part), "=")
		x, err := strconv.ParseFloat(share, 64)
		switch {
		case key == "" || err != nil || !(x > 0) || math.IsInf(x, 0):
			return Usage(hint, "curate: --plan-mix %q: %q is not a key with a share above 0", text, part)
		case slices.ContainsFunc(mix, func(s MixShare) bool { return s.Key == key }):
			return Usage(hint, "curate: --plan-mix %q: two shares of %q", text, key)
		}
		mix = append(mix, MixShare{key, x})
	}
	slices.SortFunc(mix, func(a, b MixShare) int { return cmp.Compare(a.Key, b.Key) })
	*m = mix
	return nil
}

// fieldOf returns the field of an example; nil if it has none. Dots are between
// the names of nested objects.
func fieldOf(object []byte, path string) []byte {
	name, rest, nested := strings.Cut(path, ".")
	v := jsontext.ParseObject(object).Get(name)
	if !nested || v == nil {
		return v
	}
	return fieldOf(v, rest)
}

// key returns the index of a value; -1 if the mix has none of it.
func (m Mix) key(value []byte) int {
	text := jsontext.AnyText(value)
	return slices.IndexFunc(m, func(s MixShare) bool { return s.Key == text })
}

// quotas divides n examples over the keys. None gets more than it has: the others
// get the rest, by their shares.
func (m Mix) quotas(n int, has []int) []int {
	out, open := make([]int, len(m)), make([]bool, len(m))
	for k := range open {
		open[k] = true
	}
	for {
		short, quota := false, m.divide(n, open)
		for k := range m {
			if open[k] && quota[k] > has[k] {
				out[k], open[k], short = has[k], false, true
				n -= has[k]
			}
		}
		if short {
			continue
		}
		for k := range m {
			if open[k] {
				out[k] = quota[k]
			}
		}
		return out
	}
}

// divide divides n over the open keys by their shares: the largest remainders are
// rounded up, the first of equal ones.
func (m Mix) divide(n int, open []bool) []int {
	sum, left := 0.0, n
	for k := range m {
		if open[k] {
			sum += m[k].Share
		}
	}
	out, rest, order := make([]int, len(m)), make([]float64, len(m)), []int(nil)
	for k := range m {
		if open[k] {
			exact := float64(n) * (m[k].Share / sum)
			out[k] = int(exact)
			rest[k], left, order = exact-float64(out[k]), left-out[k], append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for _, k := range order[:max(0, min(left, len(order)))] {
		out[k]++
	}
	return out
}
