package main

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage"
)

// epochRange is a range of a run's epochs: "3..7", "3.." up to the last, or "3".
// "" is every epoch.
type epochRange struct {
	text        string
	first, last int // last is -1 for the run's last
}

func (r *epochRange) declare(d *plugin.Declarer, help string) *plugin.Setting {
	return d.Func(func() any { return r.text }, r.set, "epochs", help)
}

func (r *epochRange) set(text string) (err error) {
	first, last, ranged := strings.Cut(text, "..")
	*r = epochRange{text: text, last: -1}
	r.first, err = strconv.Atoi(first)
	if err == nil && last != "" {
		r.last, err = strconv.Atoi(last)
	}
	if !ranged {
		r.last = r.first
	}
	if err != nil || r.first < 0 || r.last < r.first && (last != "" || !ranged) {
		return plugin.Badf("write 3..7, 3.. up to the last, or 3", "%q is not a range of epochs", text)
	}
	return nil
}

// of returns the epochs of the range, in order. Each must have a folder in the run.
func (r *epochRange) of(ctx context.Context, root string) ([]int, error) {
	b, err := storage.Open(ctx, root)
	if err != nil {
		return nil, err
	}
	there, err := dataset.Epochs(ctx, b)
	if err != nil {
		return nil, err
	}
	if len(there) == 0 {
		return nil, formats.Invalid(storage.Redact(root), "name the run's folder, the one that holds epoch-0",
			storage.ErrNotExist, "there is no epoch")
	}
	if r.text == "" {
		return there, nil
	}
	last := r.last
	if last < 0 {
		last = max(r.first, there[len(there)-1])
	}
	var out []int
	for e := r.first; e <= last; e++ {
		if !slices.Contains(there, e) {
			return nil, formats.Invalid(storage.Redact(root), "its epochs are "+strconv.Itoa(there[0])+" to "+
				strconv.Itoa(there[len(there)-1]), storage.ErrNotExist, "--epochs %s: there is no epoch %d", r.text, e)
		}
		out = append(out, e)
	}
	return out, nil
}
