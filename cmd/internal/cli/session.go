package cli

import (
	"errors"
	"io"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Session is one run of one command. It has the fields of its Streams, and JSON and
// LogJSON, which are true with --json and --log-format json. Say, the logger and
// the meters may be used concurrently.
type Session struct {
	*console
	Command string // its name
	Args    []string

	app     *App
	config  *configured
	options []*option
	opened  []io.Closer
}

// Given reports whether a setting was given on the command line, in the
// environment or in the configuration.
func (s *Session) Given(name string) bool {
	o := optionNamed(s.options, name)
	return o != nil && o.texts != nil
}

// Env returns the log and the progress meter for a stage.
func (s *Session) Env() stages.Env {
	return stages.Env{Log: s.Logger(), Progress: s.meter}
}

// Defer closes c when the command ends.
func (s *Session) Defer(c io.Closer) { s.opened = append(s.opened, c) }

func (s *Session) close() (err error) {
	for _, c := range s.opened {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Configured returns the settings of a section of the config file, as its command
// would read them, with some of its flags given.
func Configured[S plugin.Settings](s *Session, section string, fresh func() S, given map[string]string) (S, error) {
	settings := fresh()
	options := optionsOf(plugin.Declared(settings))
	for name, text := range given {
		if err := optionNamed(options, name).Set(text); err != nil {
			return settings, err
		}
	}
	if err := s.config.apply(section, options); err != nil {
		return settings, err
	}
	return settings, s.resolveSecrets(settings, options)
}
