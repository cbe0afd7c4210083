package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage"
)

// scoredEpochs are the reports of the epochs that were scored, or already were.
type scoredEpochs struct {
	Epochs []stages.Report `json:"epochs"`
}

func (e *scoredEpochs) writeText(w io.Writer) (err error) {
	for _, r := range e.Epochs {
		_, err = fmt.Fprintln(w, r.URI)
	}
	return err
}

// runScoreEpochs scores each epoch of the range. An epoch that fails does not stop
// the others; the error names it. The judges' budget is for all of them.
func runScoreEpochs(ctx context.Context, s *cli.Session, c *scoreSettings) error {
	for _, name := range []string{"in", "out", "epoch", "from"} {
		if s.Given(name) {
			return cli.Usagef("--as names the output of each epoch", "--epochs and --%s are both given", name)
		}
	}
	_, root := c.both()
	epochs, err := c.Epochs.of(ctx, root)
	if err != nil {
		return err
	}
	judging, err := c.judges.open(ctx, storage.Join(root, s.Command))
	if err != nil {
		return err
	}
	out := &scoredEpochs{Epochs: []stages.Report{}}
	var failed []error
	for _, e := range epochs {
		r, err := c.score(ctx, s, &e, &judging)
		if gate := (*dataset.GateError)(nil); err == nil || errors.As(err, &gate) {
			s.Reported(s.Place, r)
		}
		if err != nil {
			err = fmt.Errorf("epoch %d: %w", e, err)
			if failed = append(failed, err); ctx.Err() != nil || ofEveryEpoch(err) {
				return errors.Join(failed...)
			}
			continue
		}
		s.Say("epoch %d: %s", e, summary(r))
		out.Epochs = append(out.Epochs, r)
	}
	if failed != nil {
		err = fmt.Errorf("%d of %s failed:\n%w", len(failed), plural.Of(len(epochs), "epoch"), errors.Join(failed...))
	}
	return errors.Join(s.Print(out, out.writeText), err)
}

// ofEveryEpoch reports whether an error would be the next epoch's too: of the
// settings, of a spent budget, or of a server that does not answer.
func ofEveryEpoch(err error) bool {
	var staged *stages.Error
	return errors.As(err, &staged) && staged.Kind != stages.KindFailed
}
