package openai

import (
	"context"
	"encoding/json"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/finetune"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages/backends"
)

// made is a line of a file, or the reason why there is none.
type made struct {
	rows   []formats.Trajectory // its group
	id     string               // a trajectory that it is made of; "" for the group's best
	data   []byte
	reason string
}

// conversations makes the lines of a group's best conversations.
func (t *Trainer) conversations(rows []formats.Trajectory, line func(made) error) error {
	return t.cfg.Each(rows, func(some []formats.Trajectory, reason string) error {
		row, why := finetune.SupervisedOf(some)
		if reason != "" {
			return nil
		}
		if reason = why; reason == "" {
			reason = t.accepted.BlocksAny(some, validate.ForSFT)
		}
		return give(made{rows: rows, reason: reason}, row, line)
	})
}

// each calls group with each group of the batch, and then line with every line of the group.
func (t *Trainer) each(groups backends.Groups, group func(rows []formats.Trajectory), line func(made) error) error {
	walk := trainset.NewPreferences(t.tables)
	defer walk.Close()
	for rows, err := range groups {
		if err != nil {
			return err
		}
		group(rows)
		if t.cfg.Method == DPO {
			err = walk.Of(rows, func(p trainset.Preference, reason string) error {
				var row any
				if reason == "" {
					row, reason = finetune.OpenAIPreferenceOf(p)
				}
				if reason == "" {
					reason = t.accepted.BlocksAny(rows, validate.ForDPO, p.ChosenID, p.RejectedID)
				}
				return give(made{rows: rows, id: p.ChosenID, reason: reason}, row, line)
			})
		} else {
			err = t.conversations(rows, line)
		}
		if err != nil {
			return err
		}
	}
	return walk.End()
}

func give(m made, row any, line func(made) error) error {
	if m.reason == "" {
		data, err := json.Marshal(row)
		if err != nil {
			return err
		}
		m.data = append(data, '\n')
	}
	return line(m)
}

func (t *Trainer) Use(tables formats.Tables, a validate.Accepted) { t.tables, t.accepted = tables, a }

// WriteRows writes the files that are uploaded.
func (t *Trainer) WriteRows(ctx context.Context, s backends.Submission, groups backends.Groups, to backends.Place) error {
	for _, held := range []bool{false, true} {
		if held && t.cfg.Validation == 0 {
			continue
		}
		name := "training.jsonl"
		if held {
			name = "validation.jsonl"
		}
		if err := to.WriteFile(ctx, name, func(w io.Writer) error {
			return t.lines(w, held, s.Guarded(groups, nil))
		}); err != nil {
			return err
		}
	}
	return nil
}

func (t *Trainer) lines(w io.Writer, held bool, groups backends.Groups) error {
	return t.each(groups, func([]formats.Trajectory) {}, func(m made) error {
		if t.cfg.held(m.rows[0].ExampleID) != held {
			return nil
		}
		_, err := w.Write(m.data)
		return err
	})
}
