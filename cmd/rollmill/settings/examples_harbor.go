package settings

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/scratch"
)

// localTasks returns places of Harbor tasks, separated by commas, with a local copy in
// place of each prefix of a bucket; a manifest is copied with all below its folder. The
// copies are there until the command ends.
func localTasks(ctx context.Context, s *cli.Session, places string) (string, error) {
	local := strings.Split(places, ",")
	for i, place := range local {
		if !strings.Contains(place, "://") {
			continue
		}
		copies, err := scratch.Make("")
		if err != nil {
			return "", err
		}
		s.Defer(copies)
		folder, manifest := storage.Split(place)
		if path.Ext(manifest) != ".toml" {
			folder, manifest = place, ""
		}
		_, name := storage.Split(folder)
		to := filepath.Join(copies.Path, name) // a task without a name has its folder's
		if err := copyTasks(ctx, folder, to); err != nil {
			return "", err
		}
		local[i] = filepath.Join(to, manifest)
	}
	return strings.Join(local, ","), nil
}

// copyTasks copies the files below a prefix to a folder.
func copyTasks(ctx context.Context, uri, to string) error {
	bucket, err := storage.Open(ctx, uri)
	if err != nil {
		return cli.Usagef("", "--examples: %w", err)
	}
	for o, err := range bucket.List(ctx, "") {
		if err != nil {
			return err
		}
		name := filepath.FromSlash(o.Key)
		if !filepath.IsLocal(name) {
			return fault.Invalid(storage.Redact(storage.Join(bucket.URI(), o.Key)), "", nil,
				"not a name of a file in a task")
		}
		data, err := bucket.Read(ctx, o.Key)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o755)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
