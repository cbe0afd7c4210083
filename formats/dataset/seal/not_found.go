package seal

import (
	"context"
	"path"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// noDataset returns the error for a place that holds no dataset. It says what
// is there instead: a file, or the journal of an interrupted stage.
func noDataset(ctx context.Context, b *storage.Bucket) error {
	rows, of, err := journalled(ctx, b)
	if err != nil {
		return err
	}
	switch {
	case rows > 0 && of >= rows:
		return fault.Invalid(b.URI(), "run the same command again: it makes the rest", ErrIncomplete,
			"%d of %d attempts are journalled", rows, of)
	case rows > 0:
		return fault.Invalid(b.URI(), "run the same command again: it makes the rest", ErrIncomplete,
			"%d attempts are journalled", rows)
	case fileName(b.URI()): // an object store does not say whether a prefix exists
		return fault.Invalid(b.URI(), folderHint(b.URI()), storage.ErrNotExist, "there is no dataset")
	}
	return fault.Invalid(b.URI(),
		"has the stage that writes it run? a dataset is one stage's folder, such as epoch-0/rollout in the run's; of files that no "+
			"stage wrote, "+importHint(storage.Join(b.URI(), "*.parquet")), storage.ErrNotExist, "there is no dataset")
}

func fileName(uri string) bool {
	_, name := storage.Split(uri)
	switch path.Ext(name) {
	case ".parquet", ".json", ".jsonl", ".csv":
		return true
	}
	return false
}

func folderHint(uri string) string {
	hint := "a dataset is a folder with " + manifest.FileName + ": name the folder"
	folder, name := storage.Split(uri)
	_, isPart := manifest.PartName(name)
	switch {
	case isPart:
		hint += ", " + storage.Redact(folder)
	case path.Ext(name) == ".parquet":
		hint += "; of files that no stage wrote, " + importHint(uri) + "; a task file goes to rollout --examples"
	case fileName(name):
		hint += "; task files go to rollout --examples"
	}
	return hint
}

// importHint names the command that makes a dataset of Parquet files.
func importHint(uri string) string {
	return "`rollmill import --from rows --in '" + uri + "' --out DATASET` makes one"
}

// journalled returns the number of rows in journals here, and the number that
// the shards with a journal will have; of is 0 when a journal does not record
// it. Rows that two owners of a shard both journalled count twice.
func journalled(ctx context.Context, b *storage.Bucket) (rows, of int64, err error) {
	all, err := b.ListAll(ctx, manifest.Private)
	if err != nil {
		return 0, 0, err
	}
	all = slices.DeleteFunc(all, func(o storage.Object) bool {
		_, ofRows := inJournal(o.Key)
		return !ofRows || path.Ext(o.Key) != ".parquet"
	})
	shards := map[string]int64{}
	type size struct{ rows, of int64 }
	i := 0
	for s, err := range storage.InOrder(ctx, len(all), storage.AtOnce, func(ctx context.Context, i int) (s size, err error) {
		s.rows, s.of, err = journals.SegmentRows(ctx, b, all[i])
		return s, err
	}) {
		if err != nil {
			return 0, 0, err
		}
		dir := path.Dir(all[i].Key)
		rows += s.rows
		shards[dir] = max(shards[dir], s.of)
		i++
	}
	for _, n := range shards {
		if n == 0 {
			return rows, 0, nil
		}
		of += n
	}
	return rows, of, nil
}
