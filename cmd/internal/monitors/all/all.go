// Package all lists the monitors.
package all

import (
	"github.com/rollmill/rollmill/cmd/internal/monitors"
	"github.com/rollmill/rollmill/cmd/internal/monitors/mlflow"
	"github.com/rollmill/rollmill/cmd/internal/monitors/prometheus"
	"github.com/rollmill/rollmill/cmd/internal/monitors/tensorboard"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Settings are the settings of every monitor. The monitors watch a command whose
// settings embed them.
type Settings struct {
	Command
	tensorboard tensorboard.Settings
	mlflow      mlflow.Settings
}

// Command is the part of Settings for commands that are not about epochs.
type Command struct{ prometheus prometheus.Settings }

// Monitors returns the settings of each monitor.
func (s *Settings) Monitors() []monitors.Settings {
	return append(s.Command.Monitors(), &s.tensorboard, &s.mlflow)
}

// Monitors returns the settings of each monitor.
func (s *Command) Monitors() []monitors.Settings { return []monitors.Settings{&s.prometheus} }

// Declare declares the settings.
func (s *Settings) Declare(d *plugin.Declarer) { declare(d, s.Monitors()) }

// Declare declares the settings.
func (s *Command) Declare(d *plugin.Declarer) { declare(d, s.Monitors()) }

func declare(d *plugin.Declarer, list []monitors.Settings) {
	d.Heading("Monitors")
	for _, m := range list {
		d.Include(m)
	}
}
