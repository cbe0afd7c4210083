package rules

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

// SplitSettings are the rule's settings.
type SplitSettings struct {
	Sides Sides  // none: the rule does not run
	Take  string // the side that is kept
}

// Declare declares the settings.
func (s *SplitSettings) Declare(d *plugin.Declarer) {
	plugin.Var(d, &s.Sides, "split",
		"split the examples by the seed into `SIDES`, such as train=0.9,validation=0.1; with --take").ID("split")
	d.String(&s.Take, "take", "keep this `SIDE` of the split; curate once for each").ID("take")
}

// Side is one side of a split of the examples.
type Side struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"` // in (0, 1)
}

// Sides are all sides of a split.
type Sides []Side

// Parse reads sides as "train=0.9,validation=0.1". A side without a share gets
// the rest; an empty text is no split.
func (s *Sides) Parse(texts []string) error {
	sides, err := parse(strings.Join(texts, ","))
	if err == nil {
		*s = sides
	}
	return err
}

func parse(text string) (Sides, error) {
	const hint = "write it as train=0.9,validation=0.1; one side may leave its share out"
	var sides Sides
	if text == "" {
		return nil, nil
	}
	open, left := -1, 1.0
	for i, part := range strings.Split(text, ",") {
		name, share, given := strings.Cut(strings.TrimSpace(part), "=")
		s := Side{Name: name}
		if !given {
			if open >= 0 {
				return nil, curate.Usage(hint, "curate: --split %q: two sides without a share", text)
			}
			open = i
		} else {
			x, err := strconv.ParseFloat(share, 64)
			if err != nil {
				return nil, curate.Usage(hint, "curate: --split %q: %q is not a share", text, share)
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

// Rule makes the rule.
func (s *SplitSettings) Rule(curate.Setup) (curate.Rule, error) {
	if err := s.check(); err != nil || len(s.Sides) == 0 {
		return curate.Rule{}, err
	}
	return curate.Rule{Group: splitRule{s.Sides, s.Take}.group}, nil
}

// check refuses sides that do not add up, and an unknown side.
func (s *SplitSettings) check() error {
	if len(s.Sides) == 0 {
		if s.Take != "" {
			return curate.Usage("give --split too", "curate: --take %s without --split", s.Take)
		}
		return nil
	}
	sum, names := 0.0, make([]string, len(s.Sides))
	for i, side := range s.Sides {
		if side.Name == "" || !(side.Share > 0 && side.Share < 1) {
			return curate.Usage("each side has a name and a share above 0 and below 1",
				"curate: --split: side %q with share %v", side.Name, side.Share)
		}
		if slices.Contains(names[:i], side.Name) {
			return curate.Usage("", "curate: --split: two sides named %q", side.Name)
		}
		sum, names[i] = sum+side.Share, side.Name
	}
	if math.Abs(sum-1) > 1e-6 {
		return curate.Usage("shares add up to 1", "curate: --split: the shares add up to %.6g", sum)
	}
	if slices.Contains(names, s.Take) {
		return nil
	}
	return curate.Usage(fmt.Sprintf("curate once for each side: --take %s", strings.Join(names, ", then --take ")),
		"curate: --take %q is no side of the split", s.Take)
}
