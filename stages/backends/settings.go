package backends

import (
	"context"
	"io"
	"strings"

	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages/plugin"
)

// TrainerSettings are the settings of a backend.
type TrainerSettings interface {
	plugin.Settings

	// Trainer makes the trainer, and makes no connection. An error of
	// kind fault.Usage is a user's error.
	Trainer(Setup) (Trainer, error)
}

// Setup is what submit gives a backend.
type Setup struct {
	Place Place // for files; the zero Place for none
}

// Place is where a backend that writes files puts them.
type Place struct {
	URI   string                                                // for the receipt; without credentials
	Begin func(ctx context.Context) (Draft, error)              // a new file, not visible yet
	Read  func(ctx context.Context, key string) ([]byte, error) // fs.ErrNotExist when there is none
}

// FileURI returns the URI of a file at the place: the parameters of the place's URI stay its last part.
func (p Place) FileURI(name string) string {
	base, query, has := strings.Cut(p.URI, "?")
	if !has || !strings.Contains(base, "://") {
		return strings.TrimSuffix(p.URI, "/") + "/" + name
	}
	return strings.TrimSuffix(base, "/") + "/" + name + "?" + query
}

// Draft is a file being written; a *storage.Draft is one.
type Draft interface {
	io.Writer
	Replace(ctx context.Context, key string) error
	Discard() error
}

// WriteFile writes a file at the place, in the place of one of this name.
func (p Place) WriteFile(ctx context.Context, name string, write func(io.Writer) error) error {
	d, err := p.Begin(ctx)
	if err != nil {
		return err
	}
	defer d.Discard()
	if err := write(d); err != nil {
		return err
	}
	return d.Replace(ctx, name)
}

// Made is what a backend's settings return of its New, whose nil pointer on an
// error must not become a Trainer.
func Made[T Trainer](t T, err error) (Trainer, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Kind is an entry of the registry of backends.
type Kind = plugin.Kind[TrainerSettings]

// Registry lists backends in the order of the help.
type Registry = plugin.Registry[TrainerSettings, Kind]

// The functions below declare settings that several backends share.

// DeclareBest declares which conversations of a group supervised training
// imitates: 1 by default, a negative number for all. It returns the first setting.
func DeclareBest(d *plugin.Declarer, c *trainset.Choice) *plugin.Setting {
	d.OptionalFloat(&c.Floor, "solved-threshold", "imitate only conversations with a reward of at least `X`").ID("solved-threshold").DefaultShown("any reward")
	return d.Int(&c.Best, "best", "train on the `N` best conversations of each group; -1 for all of them").ID("best")
}

// DeclareRowWeight declares what counts the same in the loss of sequences.
func DeclareRowWeight(d *plugin.Declarer, p *sequences.Per) {
	plugin.Choice(d, p, "row-weight", "weight sequences so that every `WHAT` contributes equally to the loss",
		sequences.Pers...).DefaultShown("every weight is 1").ID("row-weight")
}

// DeclareHeldOut declares the share of the examples that is held out for
// validation, and the seed that chooses them.
func DeclareHeldOut(d *plugin.Declarer, share *float64, seed *int64) (s *plugin.Setting) {
	s = d.Float(share, "validation-share", "hold out this `SHARE` of the examples for validation").ID("validation-share")
	d.Int64(seed, "split-seed", "choose the held-out examples by `SEED`").ID("split-seed")
	return s
}

// DeclareKeyFile declares the file of a service's key.
func DeclareKeyFile(d *plugin.Declarer, p *string, variables ...string) {
	s := d.Key(p, "api-key-file", "read the service's key from this `FILE`", variables...)
	if len(variables) > 0 {
		s.DefaultShown(variables[0])
	}
}
