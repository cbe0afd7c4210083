package main

import (
	"github.com/rollmill/rollmill/cmd/internal/cli"
	monitors "github.com/rollmill/rollmill/cmd/internal/monitors/all"
	"github.com/rollmill/rollmill/stages"
)

// monitored is included by the settings of commands that monitors watch.
type monitored struct{ monitors.Settings }

// measured is the same for commands that are not about epochs.
type measured struct{ monitors.Command }

// place says on which epoch of the run a command works.
func (p *runPlace) place(s *cli.Session, epoch *int, validation bool) {
	run := ""
	if p.Run != "" || p.Root != "" || epoch != nil {
		run, _ = p.both()
	}
	s.Place = stages.Place{Run: run, Epoch: epoch, Validation: validation}
}
