package view

import (
	"fmt"

	"github.com/rollmill/rollmill/pipelines/report"
)

// figure returns the figure of a run, which is drawn again when its rewards change.
func (s *Server) figure(run report.Run) (*report.FigureView, error) {
	key := run.Root + " "
	for _, e := range run.Epochs {
		for _, s := range []*report.Sample{e.Train, e.Kept, e.Validation} {
			if s != nil && s.Mean != nil {
				key += fmt.Sprint(e.Epoch, *s.Mean, s.StdErr != nil, s.Rewards, " ")
			}
		}
	}
	return s.figures.Of(key, func() (*report.FigureView, error) {
		view, err := report.RewardView(run)
		return &view, err
	})
}
