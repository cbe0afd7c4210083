package convert

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// target is where the files are written.
type target struct {
	ctx       context.Context
	uri       string
	bucket    *storage.Bucket // nil for stdout
	stdout    io.Writer
	keys      map[string]string // of files, and beginnings of keys of folders, by name
	drafts    map[string]*storage.Draft
	overwrite bool
}

// newTarget finds the places of the files, and refuses those that are taken.
func newTarget(ctx context.Context, o *ExportOptions) (*target, error) {
	t := &target{ctx: ctx, stdout: o.Stdout, overwrite: o.Overwrite, keys: map[string]string{},
		drafts: map[string]*storage.Draft{}}
	if len(o.To) == 0 {
		return nil, fault.Errorf(fault.Usage, "", "no format")
	}
	if o.Out == "-" {
		if len(o.To) > 1 || !o.To[0].Extension.Streams() {
			return nil, fault.Errorf(fault.Usage, "write it to a file or a folder",
				"standard output takes one format, in lines or as a stream, and not %s", o.To[0].File)
		}
		return t, nil
	}
	if err := t.place(ctx, o); err != nil {
		return nil, err
	}
	if o.Overwrite {
		return t, nil
	}
	for _, key := range t.keys {
		if err := t.free(ctx, key); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// place names the files. Out is the file itself when there is one and Out's name
// has an extension, else their folder.
func (t *target) place(ctx context.Context, o *ExportOptions) (err error) {
	t.uri = storage.Redact(o.Out)
	dir, name := storage.Split(o.Out)
	first := o.To[0]
	if len(o.To) == 1 && first.Extension != exporters.Folder && strings.Contains(name, ".") && !storage.IsFolder(o.Out) {
		if first, err = named(first, name); err != nil {
			return err
		}
		o.To = []exporters.File{first}
		t.bucket, err = storage.Open(ctx, dir)
		t.keys[first.File] = name
		return err
	}
	t.bucket, err = storage.Open(ctx, o.Out)
	for _, f := range o.To {
		t.keys[f.File] = f.File
	}
	if len(o.To) == 1 && first.Extension == exporters.Folder {
		t.keys[first.File] = ""
	}
	return err
}

// named returns the form of a format that a file's extension names: a user who
// writes x.parquet means Parquet. Other programs choose their reader by it, so
// the extension of a form that the format does not have is refused.
func named(f exporters.File, name string) (exporters.File, error) {
	ext := exporters.Extension(path.Ext(name))
	if ext == f.Extension {
		return f, nil
	}
	var have []string
	for _, x := range exporters.Exports([]exporters.Format{f.Format}) {
		if x.Extension == ext {
			return x, nil
		}
		have = append(have, string(x.Extension))
	}
	if slices.Contains([]exporters.Extension{exporters.Parquet, exporters.JSONL, ".json", ".csv", ".arrow"}, ext) {
		return f, fault.Errorf(fault.Usage, "name the file *"+strings.Join(have, " or *"),
			"the format %s has no form for %s", f.Name, ext)
	}
	return f, nil
}

// free refuses a key that is taken, and a folder that is not empty.
func (t *target) free(ctx context.Context, key string) error {
	taken := fault.Errorf(fault.Usage, "name another place, or pass --overwrite",
		"there is already something at %s", storage.Join(t.bucket.URI(), key))
	if key != "" && !strings.HasSuffix(key, "/") {
		_, err := t.bucket.Stat(ctx, key)
		switch {
		case err == nil:
			return taken
		case errors.Is(err, storage.ErrNotExist):
			return nil
		}
		return err
	}
	for _, err := range t.bucket.List(ctx, key) {
		if err != nil {
			return err
		}
		return taken
	}
	return nil
}

// begin begins a file.
func (t *target) begin(name string) (io.Writer, error) {
	if t.bucket == nil {
		return t.stdout, nil
	}
	d, err := t.bucket.Draft(t.ctx)
	if err == nil {
		t.drafts[name] = d
	}
	return d, err
}

// put writes a document of a folder.
func (t *target) put(folder, name string, data []byte) error {
	if t.overwrite {
		return t.bucket.Write(t.ctx, t.keys[folder]+name, data)
	}
	return t.bucket.Create(t.ctx, t.keys[folder]+name, data)
}

// publish names the drafts, and notes the URIs of the files.
func (t *target) publish(ctx context.Context, files []Written) error {
	if t.bucket == nil {
		return nil
	}
	for i := range files {
		f := &files[i]
		key := t.keys[f.Name]
		if f.URI = t.bucket.URI(); key != "" {
			f.URI = storage.Join(t.bucket.URI(), strings.TrimSuffix(key, "/"))
		}
		if d := t.drafts[f.Name]; d != nil {
			publish := d.Create
			if t.overwrite {
				publish = d.Replace
			}
			if err := publish(ctx, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// discard drops what was not published.
func (t *target) discard() {
	for _, d := range t.drafts {
		_ = d.Discard()
	}
}
