package plot

import (
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// MaxCurves is how many runs are told apart in a figure.
const MaxCurves = 6

// CompareView returns a figure of the rewards of runs, in validation and in training, by
// epoch and by the tokens that the epochs before took; no figure without rewards. The runs
// are named by their roots.
func CompareView(curves []history.Run) (FigureView, error) {
	f := Figure{row: 3 * vg.Inch}
	var all []panel
	var ends []float64
	for name, of := range history.Sides {
		by, last, n := [2]panel{}, [2]float64{}, 0
		for ink, c := range curves {
			epochs := line{name: text.Short(c.Root, 30), ink: ink}
			tokens, before := epochs, 0.0
			for _, e := range c.Epochs {
				if s := of(e); s != nil && s.Mean != nil {
					epochs.Add(float64(e.Epoch), *s.Mean, nil)
					tokens.Add(before, *s.Mean, nil)
					last = [2]float64{max(last[0], float64(e.Epoch)), max(last[1], before)}
				}
				before += float64(e.Cost.Tokens()) / 1e6
			}
			by[0].lines, by[1].lines = append(by[0].lines, epochs), append(by[1].lines, tokens)
			n += len(epochs.points)
		}
		by[0].axis, by[1].axis = strings.ToLower(name)+" reward", strings.ToLower(name)+" reward"
		if n > 0 {
			all, ends = append(all, by[:]...), append(ends, last[:]...)
		}
	}
	if len(all) == 0 {
		return FigureView{}, nil
	}
	f.plots = func(t theme) (out []*plot.Plot, err error) {
		for i, p := range all {
			drawn, err := p.plot(t, 0, ends[i])
			if err != nil {
				return nil, err
			}
			if drawn.X.Label.Text = "epoch"; i%2 == 1 {
				drawn.X.Label.Text, drawn.X.Tick.Marker = "million tokens before", labelled
			}
			out = append(out, drawn)
		}
		return out, nil
	}
	return f.View("Rewards of the runs by epoch and by tokens")
}
