package cli

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/rollmill/rollmill/cmd/internal/monitors"
	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage"
)

// Session is one run of one command. It has the fields of its Streams, and JSON and
// LogJSON, which are true with --json and --log-format json. Say, the logger and
// the meters may be used concurrently.
type Session struct {
	*terminal.Console
	app     *App
	Command string // its name
	Args    []string
	Place   stages.Place // of what the command works on, for its meters and metrics

	monitors *monitors.Runner
	config   *configured
	options  []*option
	opened   []io.Closer
}

func (s *Session) ConfigSchema() string { return s.app.ConfigSchema() }

func (s *Session) Has(name string) bool { return optionNamed(s.options, name) != nil }

// Given reports whether a setting was given on the command line, in the
// environment or in the configuration.
func (s *Session) Given(name string) bool {
	o := optionNamed(s.options, name)
	return o != nil && o.texts != nil
}

// Typed reports whether a setting was given on the command line: one of the configuration is
// for the runs that it concerns.
func (s *Session) Typed(name string) bool {
	o := optionNamed(s.options, name)
	return o != nil && o.given
}

// Told returns the message and the hint of an error, as the command would end with it.
func (s *Session) Told(err error) (what, hint string) { return s.Worded(s.Command, err) }

// Env returns what the process gives a stage: the log, and meters that are shown and
// whose figures the file of metrics gets.
func (s *Session) Env() stages.Env {
	return stages.Env{Log: s.Logger(), Place: s.Place, Retries: &s.Retries, Progress: func(m *stages.Meter) func() {
		s.monitors.Begin(m)
		return s.Board.Begin(m)
	}}
}

// countBytes returns a context in which a meter counts the bytes that move between
// storage and this process.
func (s *Session) countBytes(ctx context.Context) context.Context {
	m := s.Env().Meter(s.Command, terminal.UnitBytes, 0)
	return storage.Wrapping(ctx, func(b *storage.Bucket) *storage.Bucket {
		return b.WithMeter(func(_, _ string, _, n int64) { m.Add(n) })
	})
}

// Reported puts what a stage reports into the file of metrics.
func (s *Session) Reported(at stages.Place, r stages.Report) { s.monitors.Report(at, r) }

// watch begins to keep the file of metrics, if the settings name one.
func (s *Session) watch(settings plugin.Settings) (err error) {
	if m, ok := settings.(interface{ Metrics() *monitors.Settings }); ok {
		job := monitors.Job{Command: s.Command, Log: s.Logger()}
		for _, x := range plugin.Declared(settings) {
			if text, is := x.Value().(string); is && x.Name == "shard" {
				if shard, err := stages.ParseShard(text, s.Lookup); err == nil && shard.Count > 1 { // the command reports an error
					job.Shard = strconv.Itoa(shard.Index)
				}
			}
		}
		s.monitors, err = monitors.Start(job, m.Metrics())
	}
	return err
}

// Defer closes c when the command ends.
func (s *Session) Defer(c io.Closer) { s.opened = append(s.opened, c) }

func (s *Session) Close() (err error) {
	for _, c := range s.opened {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Configured returns the settings of a section of the config file, as its command would read
// them. set, which may be nil, assigns what the caller decides instead. It is called before the
// section is read too, because the overlay's switch decides which sections count.
func Configured[S plugin.Settings](s *Session, section string, fresh func() S, set func(S)) (S, error) {
	settings := fresh()
	if set == nil {
		set = func(S) {}
	}
	set(settings)
	options := optionsOf(plugin.Declared(settings))
	if err := s.config.apply(section, options); err != nil {
		return settings, err
	}
	set(settings)
	return settings, resolveSecrets(s.Console, settings, options)
}
