package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/xrash/smetrics"
	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Plain reports whether a URI names Parquet files that no stage wrote, such as
// data/*.parquet, and not a dataset's folder. For a name without * the name of
// one file is meant if there is such a file.
func Plain(uri string) bool {
	_, name := storage.Split(uri)
	_, isPart := manifest.PartName(name)
	return strings.Contains(name, "*") || path.Ext(name) == ".parquet" && !isPart
}

// plain is what a dataset has in addition whose parts another tool wrote.
type plain struct {
	files bool // there is no manifest: it was made when the dataset was opened
	once  sync.Once
	made  []int32 // the generation of each row, by its place
	err   error
}

// openPlain opens the files that a URI names as one wide dataset, with a
// manifest made from one listing and the files' footers. It returns nil when
// the URI does not name files.
func openPlain(ctx context.Context, uri string) (*Dataset, error) {
	if !Plain(uri) {
		return nil, nil
	}
	folder, name := storage.Split(uri)
	if strings.Contains(folder, "*") {
		return nil, fault.Invalid(storage.Redact(uri), "name the files of one folder: FOLDER/*.parquet", nil,
			"a * may be only in the last part of the name")
	}
	b, err := storage.Open(ctx, folder)
	if err != nil {
		return nil, err
	}
	files, err := matching(ctx, b, name)
	if err != nil || files == nil && !strings.Contains(name, "*") {
		return nil, err
	}
	if err := refuseParts(ctx, b, uri, files); err != nil {
		return nil, err
	}
	return newPlain(ctx, b, uri, files)
}

// matching lists the files of a folder whose names match: a * stands for any
// text.
func matching(ctx context.Context, b *storage.Bucket, name string) ([]storage.Object, error) {
	prefix, _, _ := strings.Cut(name, "*")
	pattern := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `?`, `\?`).Replace(name)
	var out []storage.Object
	for o, err := range b.List(ctx, prefix) {
		if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if ok, _ := path.Match(pattern, o.Key); ok {
			out = append(out, o)
		}
	}
	return out, nil
}

// refuseParts refuses no files, and those of a dataset.
func refuseParts(ctx context.Context, b *storage.Bucket, uri string, files []storage.Object) error {
	if len(files) == 0 {
		return fault.Invalid(storage.Redact(uri),
			"put the name in quotes, so that the shell does not change it; a * stands for any text without a slash",
			storage.ErrNotExist, "no file has such a name")
	}
	for _, o := range files {
		if _, isPart := manifest.PartName(o.Key); !isPart {
			return nil
		}
	}
	if _, err := b.Stat(ctx, manifest.FileName); errors.Is(err, storage.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return fault.Invalid(storage.Redact(uri), "name the dataset's folder, "+b.URI(), nil,
		"the files are parts of a dataset")
}

// footersAtOnce is how many files are opened concurrently.
const footersAtOnce = 8

// newPlain reads the footers of files and makes a manifest.
func newPlain(ctx context.Context, b *storage.Bucket, uri string, files []storage.Object) (*Dataset, error) {
	d := &Dataset{Address: uri, Bucket: b, plain: &plain{files: true}}
	d.Manifest = manifest.Manifest{Format: manifest.Format,
		Content: manifest.Content{Kind: schema.KindTrajectories, Schema: schema.Version, Plain: true,
			Stage: "plain-parquet", Shards: 1}}
	d.Parts = make([]manifest.Part, len(files))
	columns := make([]map[string]bool, len(files))
	open, ctx := errgroup.WithContext(ctx)
	open.SetLimit(footersAtOnce)
	for i, o := range files {
		open.Go(func() (err error) {
			d.Parts[i], columns[i], err = plainPart(ctx, b, o)
			return err
		})
	}
	if err := open.Wait(); err != nil {
		return nil, err
	}
	sum := sha256.New()
	for i, p := range d.Parts {
		if columns[i]["generation"] != columns[0]["generation"] {
			return nil, fault.Invalid(d.place(p), "write it to every file or to none", nil,
				"one of this file and %q has the column generation, and the other has not", d.Parts[0].Name)
		}
		d.Rows += p.Rows
		d.Bytes += p.Bytes
		fmt.Fprintf(sum, "%d %s %s\n", p.Bytes, p.Footer, p.Name)
	}
	d.digest = hex.EncodeToString(sum.Sum(nil))
	d.Identity = d.digest[:16]
	d.StandIn(d.digest)
	d.Fix()
	return d, nil
}

// plainPart describes a file, and returns the columns that it has.
func plainPart(ctx context.Context, b *storage.Bucket, o storage.Object) (manifest.Part, map[string]bool, error) {
	place := storage.Join(b.URI(), o.Key)
	if strings.ContainsFunc(o.Key, func(r rune) bool { return r < ' ' }) {
		return manifest.Part{}, nil, fault.Invalid(place, "rename the file", nil, "its name has a control character")
	}
	src, err := b.OpenSized(ctx, o.Key, o.Size)
	if err != nil {
		return manifest.Part{}, nil, err
	}
	defer src.Close()
	f, err := openForeign(b, src, o.Size, place)
	if err != nil {
		return manifest.Part{}, nil, err
	}
	_, has, err := parquet.NewForeignReader[plainRow](f, func(string) bool { return true }, 0, 0)
	if err == nil {
		err = checkMinimum(f, has)
	}
	return manifest.Part{Name: o.Key, Rows: f.Rows(), Bytes: o.Size, Footer: f.FooterDigest(), RowGroups: f.RowGroups()}, has, err
}

// openForeign opens a file that another tool wrote.
func openForeign(b *storage.Bucket, src storage.Reader, size int64, place string) (*parquet.File, error) {
	if _, local := b.Local(); local {
		return parquet.OpenForeign(src, size, place, 0)
	}
	return parquet.OpenForeign(src, size, place, fetchAhead)
}

// checkMinimum refuses a file that lacks columns of plainMinimum.
func checkMinimum(f *parquet.File, has map[string]bool) error {
	known := f.Names()
	var missing []string
	for _, c := range plainMinimum {
		list := c.path[:strings.LastIndex(c.path, ".")+1] // with its dot; "" for a column of the row
		there := func(name string) bool { return strings.HasPrefix(name, list) }
		if has[c.path] || list != "" && list != "messages." && !slices.ContainsFunc(known, there) {
			continue
		}
		missing = append(missing, fmt.Sprintf("%s (%s)%s", c.path, c.meaning, nearest(c.path, known)))
	}
	if missing == nil {
		return nil
	}
	return fault.Invalid(f.Name(),
		"rename or add them; `rollmill import` converts other formats, and `rollmill help datasets` lists the columns", nil,
		"lacks %s: %s", counted(len(missing)), strings.Join(missing, "; "))
}

func counted(n int) string {
	if n == 1 {
		return "a column"
	}
	return fmt.Sprintf("%d columns", n)
}

// nearest returns a remark that names the known column with the most similar
// name; "" when none is similar.
func nearest(name string, known []string) string {
	best, score := "", 0.78
	for _, k := range known {
		if len(k) > 2*len(name) {
			continue
		}
		if s := smetrics.JaroWinkler(strings.ToLower(k), name, 0.7, 4); s > score && k != name {
			best, score = k, s
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", the nearest is %q", best)
}

// place returns where a part is.
func (d *Dataset) place(p manifest.Part) string { return storage.Join(d.Bucket.URI(), p.Name) }

// PlaceOf returns the part that holds a row, and the row's index in it.
func (d *Dataset) PlaceOf(row int64) (place string, at int64) {
	for _, p := range d.Parts {
		if row < p.Rows {
			return d.place(p), row
		}
		row -= p.Rows
	}
	return d.Address, row
}

// changed returns what differs between the files that a reference records and
// those that are there now; "" when it records none.
func (d *Dataset) changed(files []manifest.File) string {
	now := map[string]manifest.Part{}
	for _, p := range d.Parts {
		now[p.Name] = p
	}
	for _, f := range files {
		p, ok := now[f.Name]
		delete(now, f.Name)
		switch {
		case !ok:
			return fmt.Sprintf("file %q is gone", f.Name)
		case p.Bytes != f.Bytes:
			return fmt.Sprintf("file %q has %d bytes, and had %d", f.Name, p.Bytes, f.Bytes)
		case p.Footer != f.Footer:
			return fmt.Sprintf("file %q was written again", f.Name)
		}
	}
	for _, p := range d.Parts {
		if _, added := now[p.Name]; added && files != nil {
			return fmt.Sprintf("file %q was added", p.Name)
		}
	}
	return ""
}
