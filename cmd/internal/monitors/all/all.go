// Package all lists the monitors.
package all

import (
	"github.com/rollmill/rollmill/cmd/internal/monitors"
	"github.com/rollmill/rollmill/cmd/internal/monitors/prometheus"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Settings are the settings of every monitor. The monitors watch a command whose
// settings embed them.
type Settings struct {
	prometheus prometheus.Settings
}

// Monitors returns the settings of each monitor.
func (s *Settings) Monitors() []monitors.Settings {
	return []monitors.Settings{&s.prometheus}
}

// Declare declares the settings.
func (s *Settings) Declare(d *plugin.Declarer) {
	d.Heading("Monitors")
	for _, m := range s.Monitors() {
		d.Include(m)
	}
}
