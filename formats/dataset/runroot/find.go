package runroot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Find returns the root of the run that a dataset (or a receipt) at a URI
// belongs to: the place whose File holds the run's id. It looks, in this
// order, in the folders above the URI; at the root that the dataset records; if
// none of these has it, at the roots in known; and at the root that a File
// found so far records. It follows a recorded root only on a local disk and
// within the store of the place that names it, so that a dataset from elsewhere
// cannot send requests to another host.
// It is a fault.Error when there is no such place, and also when there
// are two different ones: one of them is a copy, and only the user can say
// which ledger counts.
func Find(ctx context.Context, in string, r manifest.Run, known ...string) (string, error) {
	f := finder{id: r.ID}
	for dir := range above(in) {
		if err := f.look(ctx, dir); err != nil {
			return "", err
		}
		if len(f.found) > 0 {
			break
		}
	}
	if err := f.follow(ctx, in, r.Root); err != nil {
		return "", err
	}
	for _, root := range known {
		if len(f.found) > 0 {
			break // it may be the same place, reached in another way
		}
		if err := f.look(ctx, root); err != nil {
			return "", err
		}
	}
	for i := 0; i < len(f.found); i++ {
		if err := f.follow(ctx, f.found[i], f.origin[i]); err != nil {
			return "", err
		}
	}
	switch len(f.found) {
	case 0:
		return "", f.none(in, r)
	case 1:
		return f.found[0], nil
	}
	return "", fault.Invalid(storage.Redact(in),
		"one is a copy of the other: name the one whose ledger counts with --ledger URI, or remove "+File+
			" from the copy", nil,
		"two places hold the id of its run (%s): %q and %q", r.ID, storage.Redact(f.found[0]), storage.Redact(f.found[1]))
}

// finder collects the distinct places that hold an id.
type finder struct {
	id      string
	found   []string
	origin  []string // the roots that the Files found record
	ignored string   // a recorded root in another store, which was not read
}

// look adds a place if it holds the id.
func (f *finder) look(ctx context.Context, root string) error {
	if slices.ContainsFunc(f.found, func(known string) bool { return samePlace(known, root) }) {
		return nil
	}
	b, err := storage.Open(ctx, root)
	if err != nil {
		return err
	}
	r, err := readRun(ctx, b)
	switch {
	case errors.Is(err, storage.ErrNotExist), errors.Is(err, storage.ErrDenied), errors.Is(err, storage.ErrNoBucket),
		errors.Is(err, syscall.ENOTDIR):
		return nil
	case err != nil:
		return fmt.Errorf("looking for the ledger: %w", err)
	}
	if r.ID == f.id {
		f.found, f.origin = append(f.found, absolute(root)), append(f.origin, r.Root)
	}
	return nil
}

// follow looks at a root that a file at a place records.
func (f *finder) follow(ctx context.Context, from, root string) error {
	if root == "" {
		return nil
	}
	if _, err := storage.Open(ctx, root); err != nil || !Follows(from, root) {
		f.ignored = root
		return nil
	}
	return f.look(ctx, root)
}

func (f *finder) none(in string, r manifest.Run) error {
	help := "name the run's root with --ledger URI; with an empty ledger the epoch could be trained a second time"
	switch {
	case f.ignored != "":
		return fault.Invalid(storage.Redact(in), help, nil,
			"no folder above it holds the id of its run (%s), and the root that it records, %q, is in another store and is "+
				"not followed", r.ID, storage.Redact(f.ignored))
	case r.Root != "":
		return fault.Invalid(storage.Redact(in), help, nil,
			"neither a folder above it nor the root that it records, %q, holds the id of its run (%s)",
			storage.Redact(r.Root), r.ID)
	}
	return fault.Invalid(storage.Redact(in), help, nil,
		"no folder above it holds the id of its run (%s), and it records no root", r.ID)
}
