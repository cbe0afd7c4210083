package curate

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// Mix is the proportions in which examples are drawn, by the value of a field, in the order of values.
type Mix []MixShare

// MixShare is one of them.
type MixShare struct {
	Key   string  `json:"key"`
	Share float64 `json:"share"` // relative to the others
}

// Parse reads a mix as "math=0.4,code=0.6"; an empty text is none.
func (m *Mix) Parse(texts []string) error {
	var mix Mix
	text := strings.Join(texts, ",")
	for part := range strings.SplitSeq(text, ",") {
		key, share, _ := strings.Cut(strings.TrimSpace(part), "=")
		x, err := strconv.ParseFloat(share, 64)
		twice := slices.ContainsFunc(mix, func(s MixShare) bool { return s.Key == key })
		if text != "" && (key == "" || err != nil || !(x > 0) || math.IsInf(x, 0) || twice) {
			return Usage("write it as math=0.4,code=0.6, each key once; shares are relative, so math=2,code=3 is the same",
				"curate: --plan-mix %q: %q is not another key with a share above 0", text, part)
		}
		mix = append(mix, MixShare{key, x})
	}
	slices.SortFunc(mix, func(a, b MixShare) int { return cmp.Compare(a.Key, b.Key) })
	if *m = mix; text == "" {
		*m = nil
	}
	return nil
}

// fieldOf returns a field of an example, with dots between nested names; nil if it has none.
func fieldOf(object []byte, path string) []byte {
	name, rest, nested := strings.Cut(path, ".")
	v := jsontext.ParseObject(object).Get(name)
	if !nested || v == nil {
		return v
	}
	return fieldOf(v, rest)
}

// quotas divides n examples over the keys. None gets more than it has: the others get the rest, by
// their shares.
func (m Mix) quotas(n int, has []int) []int {
	out := make([]int, len(m))
	for before := -1; n != before; {
		before = n
		for k, quota := range m.divide(n, func(k int) bool { return out[k] < has[k] }) {
			quota = min(quota, has[k]-out[k])
			out[k], n = out[k]+quota, n-quota
		}
	}
	return out
}

// divide divides n over the open keys by their shares: the largest remainders are rounded up, the
// first of equal ones.
func (m Mix) divide(n int, open func(int) bool) []int {
	sum, left, order := 0.0, n, []int(nil)
	for k := range m {
		if open(k) {
			sum, order = sum+m[k].Share, append(order, k)
		}
	}
	out, rest := make([]int, len(m)), make([]float64, len(m))
	for _, k := range order {
		exact := float64(float64(n) * (m[k].Share / sum))
		out[k] = int(exact)
		rest[k], left = exact-float64(out[k]), left-out[k]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for _, k := range order[:max(0, min(left, len(order)))] {
		out[k]++
	}
	return out
}
