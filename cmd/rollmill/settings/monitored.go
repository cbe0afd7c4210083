package settings

import (
	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/internal/monitors"
	"github.com/rollmill/rollmill/stages"
)

// Monitored is included by the settings of commands whose figures a file can keep.
type Monitored struct{ monitors.Settings }

// Place says on which epoch of the run a command works.
func (p *RunPlace) Place(s *cli.Session, epoch *int, validation bool) {
	run := ""
	if p.Run != "" || p.Root != "" || epoch != nil {
		run, _ = p.Both()
	}
	s.Place = stages.Place{Run: run, Epoch: epoch, Validation: validation}
}
