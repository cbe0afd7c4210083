package curate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Side is one side of a split of the examples.
type Side struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"` // in (0, 1)
}

// ParseSplit reads sides as "train=0.9,validation=0.1". One without a share
// has what the others leave.
func ParseSplit(text string) ([]Side, error) {
	const hint = "write it as train=0.9,validation=0.1; one side may leave its share out"
	var sides []Side
	open, left := -1, 1.0
	for i, part := range strings.Split(text, ",") {
		name, share, given := strings.Cut(strings.TrimSpace(part), "=")
		s := Side{Name: name}
		if !given {
			if open >= 0 {
				return nil, usage(hint, "curate: --split %q: two sides without a share", text)
			}
			open = i
		} else {
			x, err := strconv.ParseFloat(share, 64)
			if err != nil {
				return nil, usage(hint, "curate: --split %q: %q is no share", text, share)
			}
			s.Share = x
			left -= x
		}
		sides = append(sides, s)
	}
	if open >= 0 {
		sides[open].Share = math.Round(left*1e9) / 1e9
	}
	return sides, nil
}

// sides checks the split.
func (o *Options) sides() error {
	if len(o.Split) == 0 {
		if o.Take != "" {
			return usage("give --split too", "curate: --take %s of no split", o.Take)
		}
		return nil
	}
	sum, names := 0.0, make([]string, len(o.Split))
	for i, s := range o.Split {
		if s.Name == "" || !(s.Share > 0 && s.Share < 1) {
			return usage("each side has a name and a share above 0 and below 1", "curate: --split: side %q with share %v", s.Name, s.Share)
		}
		for _, other := range names[:i] {
			if other == s.Name {
				return usage("", "curate: --split: two sides named %q", s.Name)
			}
		}
		sum, names[i] = sum+s.Share, s.Name
	}
	if math.Abs(sum-1) > 1e-6 {
		return usage("shares add up to 1", "curate: --split: the shares add up to %.6g", sum)
	}
	for _, name := range names {
		if name == o.Take {
			return nil
		}
	}
	return usage(fmt.Sprintf("curate once for each side: --take %s", strings.Join(names, ", then --take ")), "curate: --take %q is no side of the split", o.Take)
}
