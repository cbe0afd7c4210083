package settings

import (
	"github.com/rollmill/rollmill/cmd/internal/cli"
	monitors "github.com/rollmill/rollmill/cmd/internal/monitors/all"
	"github.com/rollmill/rollmill/stages"
)

// Monitored is included by the settings of commands that monitors watch.
type Monitored struct{ monitors.Settings }

// Measured is the same for commands that are not about epochs.
type Measured struct{ monitors.Command }

// Place says on which epoch of the run a command works.
func (p *RunPlace) Place(s *cli.Session, epoch *int, validation bool) {
	run := ""
	if p.Run != "" || p.Root != "" || epoch != nil {
		run, _ = p.Both()
	}
	s.Place = stages.Place{Run: run, Epoch: epoch, Validation: validation}
}
