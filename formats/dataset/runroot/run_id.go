package runroot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// File is the object under a run's root that holds the run's id. It is
// created once and never changes.
const File = manifest.Private + "run.json"

const (
	runFormat  = "rollmill-run/1"
	maxRunFile = 64 << 10
)

// runFile is the content of File: the id, and where the root was when the id
// was made. The root was moved or copied if it is elsewhere now.
type runFile struct {
	Format string `json:"format"`
	manifest.Run
}

// Open returns the run whose root is at a URI, and gives it an id if it has
// none. Of concurrent callers one makes the id, and all return it.
func Open(ctx context.Context, root string) (manifest.Run, error) {
	b, err := storage.Open(ctx, root)
	if err != nil {
		return manifest.Run{}, err
	}
	r, err := readRun(ctx, b)
	if errors.Is(err, storage.ErrNotExist) {
		id := strings.ReplaceAll(uuid.NewString(), "-", "")
		made := runFile{runFormat, manifest.Run{ID: id, Root: Storable(ctx, absolute(root))}}
		data, bad := json.MarshalIndent(made, "", " ")
		if bad != nil {
			return manifest.Run{}, bad
		}
		if err = b.Create(ctx, File, append(data, '\n')); errors.Is(err, storage.ErrExist) {
			made.Run, err = readRun(ctx, b) // another process was faster
		}
		r = made.Run
	}
	if err != nil {
		return manifest.Run{}, err
	}
	return manifest.Run{ID: r.ID, Root: Storable(ctx, absolute(root))}, nil
}

func readRun(ctx context.Context, b *storage.Bucket) (manifest.Run, error) {
	data, err := b.ReadLimited(ctx, File, maxRunFile)
	if errors.Is(err, storage.ErrTooLarge) {
		err = fault.Invalid(storage.Join(b.URI(), File), damagedRun, err, "not the id of a run")
	}
	if err != nil {
		return manifest.Run{}, err
	}
	var f runFile
	err = json.Unmarshal(data, &f)
	if err != nil || f.Format != runFormat || !f.Valid() {
		return manifest.Run{}, fault.Invalid(storage.Join(b.URI(), File), damagedRun, err,
			"not the id of a run (format %q, id %q)", f.Format, f.ID)
	}
	return f.Run, nil
}

const damagedRun = "put it back from a backup: the datasets of the run hold its id, and its ledger is found by it; or name " +
	"the ledger with --ledger"

// Storable returns a root as it may be stored: unchanged, or "" when any part of it
// may be a secret. A root without its secret would be useless.
func Storable(ctx context.Context, root string) string {
	_, query, _ := strings.Cut(root, "?")
	text, err := url.QueryUnescape(query)
	if err != nil || strings.Contains(text, "@") || storage.Redact(root) != root || strings.Contains(root, "=redacted") ||
		secret.From(ctx).Redact(root) != root {
		return ""
	}
	return root
}

// Epochs returns the numbers of the epochs that have a folder in the folder of a run, in order.
func Epochs(ctx context.Context, b *storage.Bucket) ([]int, error) {
	var out []int
	for o, err := range b.Level(ctx, "") {
		if err != nil {
			return nil, err
		}
		name, folder := strings.CutSuffix(o.Key, "/")
		e, err := strconv.Atoi(strings.TrimPrefix(name, epochPrefix))
		if folder && err == nil && EpochFolder(e) == name && e >= 0 {
			out = append(out, e)
		}
	}
	slices.Sort(out)
	return out, nil
}

// EpochFolder returns the name of an epoch's folder in the folder of its run.
func EpochFolder(e int) string { return epochPrefix + strconv.Itoa(e) }

const epochPrefix = "epoch-"

var epochFolder = regexp.MustCompile("^" + epochPrefix + "[0-9]+$")

// Of returns the root of the run that a dataset at a URI belongs to
// according to its path: the folder above the nearest epoch-<e>, else the
// dataset's parent. A local root is absolute.
func Of(uri string) string {
	parent := ""
	for dir, child := range above(uri) {
		if _, name := storage.Split(child); epochFolder.MatchString(name) {
			return dir
		}
		parent = cmp.Or(parent, dir)
	}
	if parent == "" { // the top of a bucket
		return uri
	}
	return parent
}

// Parent returns the folder that holds a dataset or, when that is an epoch's
// folder, the folder above it.
func Parent(uri string) string {
	dir, _ := storage.Split(uri)
	if parent, name := storage.Split(dir); epochFolder.MatchString(name) {
		return parent
	}
	return dir
}

// InValidation reports whether a dataset at a URI is of an epoch's validation
// according to its path: only the folder right below the nearest epoch-<e> counts.
func InValidation(uri string) bool {
	below := ""
	for _, child := range above(uri) {
		_, name := storage.Split(child)
		if epochFolder.MatchString(name) {
			return below == "validation"
		}
		below = name
	}
	return false
}

// above yields the folders above a URI, the nearest first, each with the URI
// below it on the way. Local ones are absolute paths; the top of a bucket is
// the last.
func above(uri string) iter.Seq2[string, string] {
	return func(yield func(dir, child string) bool) {
		child := absolute(uri)
		for {
			dir, _ := storage.Split(child)
			base, _, _ := strings.Cut(dir, "?")
			if dir == child || strings.HasSuffix(base, "://") || !yield(dir, child) {
				return
			}
			child = dir
		}
	}
}

// absolute returns a URI that does not depend on the working folder; a local one as a path.
func absolute(uri string) string {
	if local, is, err := storage.Path(uri); is && err == nil {
		if abs, err := filepath.Abs(local); err == nil {
			return abs
		}
	}
	return uri
}
