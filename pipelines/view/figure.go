package view

import (
	"fmt"
	"sync"

	"github.com/rollmill/rollmill/pipelines/report"
)

// figureCache keeps the figure of the run until its rewards change.
type figureCache struct {
	mu   sync.Mutex
	key  string
	view report.FigureView
}

func (c *figureCache) of(run report.Run) (*report.FigureView, error) {
	key := run.Root + " "
	for _, e := range run.Epochs {
		for _, s := range []*report.Sample{e.Train, e.Kept, e.Validation} {
			if s != nil && s.Mean != nil {
				key += fmt.Sprint(e.Epoch, *s.Mean, s.StdErr != nil, s.Rewards, " ")
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.key == key {
		return &c.view, nil
	}
	view, err := report.RewardView(run)
	if err != nil {
		return nil, err
	}
	c.key, c.view = key, view
	return &view, nil
}
