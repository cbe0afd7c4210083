package diff

import (
	"slices"
	"strings"
)

// SignalChange is how a component's signals differ, over messages that have one on both sides.
type SignalChange struct {
	Component  string  `json:"component"`
	Messages   int64   `json:"messages"`
	Moved      int64   `json:"moved"`       // whose signal changed
	MeanChange float64 `json:"mean_change"` // of b - a
}

type signal struct {
	Message   int32   `parquet:"message,delta"`
	Component string  `parquet:"component,dict"`
	Value     float64 `parquet:"value"`
}

// signals adds those of a row.
func (d *Difference) signals(a, b []signal) {
	for _, x := range a {
		at := slices.IndexFunc(b, func(y signal) bool { return y.Message == x.Message && y.Component == x.Component })
		if at < 0 {
			continue
		}
		c := slices.IndexFunc(d.Signals, func(c SignalChange) bool { return c.Component == x.Component })
		if c < 0 {
			c, d.Signals = len(d.Signals), append(d.Signals, SignalChange{Component: strings.Clone(x.Component)})
		}
		s, change := &d.Signals[c], b[at].Value-x.Value
		s.Messages++
		count(&s.Moved, change != 0)
		s.MeanChange += (change - s.MeanChange) / float64(s.Messages)
	}
}
