package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/records"
	"github.com/rollmill/rollmill/pipelines/convert"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// importFiles lists the files that --in names, in the order of the flags and then of their
// names. A folder stands for the files in it, at any depth, that the format reads.
func importFiles(ctx context.Context, uris []string, format *importers.Format) (manifest.Ref, []convert.File, error) {
	ref := manifest.Ref{Role: "source"}
	if len(uris) == 0 {
		return ref, nil, cli.Usagef("name files, a pattern or a folder: --in 'data/*.jsonl'", "no --in")
	}
	var files []convert.File
	var names []string
	seen := map[string]bool{}
	var missing error
	for _, uri := range uris {
		some, err := filesAt(ctx, uri, format)
		if errors.Is(err, errNoFiles) {
			missing = cmp.Or(missing, err)
		} else if err != nil {
			return ref, nil, err
		}
		for _, f := range some {
			if seen[f.URI] {
				return ref, nil, cli.Usagef("each of its trajectories would be there twice: name the file once",
					"--in: two of them name %q", storage.Redact(f.URI))
			}
			seen[f.URI] = true
		}
		files = append(files, some...)
		names = append(names, storage.Redact(uri))
	}
	ref.URI = strings.Join(names, " ")
	return ref, files, missing
}

// errNoFiles is the cause of an error about a place without files, which may have had some the night before.
var errNoFiles = fmt.Errorf("%w", storage.ErrNotExist)

func filesAt(ctx context.Context, uri string, format *importers.Format) ([]convert.File, error) {
	switch uri {
	case "":
		return nil, cli.Usagef("name files, a pattern or a folder: --in 'data/*.jsonl'", "--in is empty")
	case "-":
		return nil, cli.Usagef("write it to a file first; the extension of its name is the file's format",
			"--in -: files are read twice, and stdin cannot be")
	}
	folder, name := storage.Split(uri)
	parent, err := storage.Open(ctx, folder)
	if err != nil {
		return nil, cli.Usagef("", "--in: %w", err)
	}
	if strings.Contains(name, "*") {
		return list(ctx, parent, uri, format, func(key string) bool {
			ok, _ := path.Match(name, key) // a bad pattern matches nothing, which is an error
			return ok
		})
	}
	if o, err := parent.Stat(ctx, name); err == nil {
		files := []convert.File{importFile(parent, o)}
		return files, companions(ctx, parent, format, files)
	} else if !errors.Is(err, storage.ErrNotExist) && name != "" {
		return nil, err
	}
	bucket, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, cli.Usagef("", "--in: %w", err)
	}
	return list(ctx, bucket, uri, format, func(key string) bool {
		return !hidden(key) && slices.Contains(format.Extensions, records.Extension(key)) &&
			(format.Skip == nil || !format.Skip(key))
	})
}

// hidden reports whether a part of a key begins with a dot or an underscore, as
// the names of files do that are not data.
func hidden(key string) bool {
	return strings.Contains("/"+key, "/.") || strings.Contains("/"+key, "/_")
}

// list returns the files of a bucket that are wanted.
func list(ctx context.Context, b *storage.Bucket, uri string, format *importers.Format,
	want func(key string) bool) ([]convert.File, error) {
	var files []convert.File
	other := ""
	for o, err := range b.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		other = cmp.Or(other, o.Key)
		if want(o.Key) {
			files = append(files, importFile(b, o))
		}
	}
	hint := "a pattern is quoted and has its * in the last part of the path; of a folder the files " +
		strings.Join(format.Extensions, ", ") + " are read"
	switch {
	case len(files) == 0 && other != "":
		return nil, fault.Invalid(storage.Redact(uri), hint, nil,
			"no file to import among those that are there, such as %q", other)
	case len(files) == 0:
		return nil, fault.Invalid(storage.Redact(uri), hint, errNoFiles, "there is no file to import")
	}
	slices.SortFunc(files, func(a, b convert.File) int { return strings.Compare(a.Name, b.Name) })
	return files, companions(ctx, b, format, files)
}

// companions gives each file those beside it that are its companions.
func companions(ctx context.Context, b *storage.Bucket, format *importers.Format, files []convert.File) error {
	if format.Companions == "" {
		return nil
	}
	siblings := map[string][]convert.File{}
	for o, err := range b.List(ctx, "") {
		if err != nil {
			return err
		}
		for folder := path.Dir(o.Key); ; folder = path.Dir(folder) {
			if format.IsCompanion(convert.Below(folder, o.Key)) {
				siblings[folder] = append(siblings[folder], importFile(b, o))
			}
			if folder == "." {
				break
			}
		}
	}
	for i := range files {
		for _, c := range siblings[path.Dir(files[i].Name)] {
			if c.Name != files[i].Name {
				files[i].Companions = append(files[i].Companions, c)
			}
		}
		slices.SortFunc(files[i].Companions, func(a, b convert.File) int { return strings.Compare(a.Name, b.Name) })
	}
	return nil
}

func importFile(b *storage.Bucket, o storage.Object) convert.File {
	key := o.Key
	uri := storage.Join(b.URI(), key)
	if strings.Contains(uri, "://") { // formats look at how it ends; a path may have the character
		uri, _, _ = strings.Cut(uri, "?")
	}
	version := o.ModTime.UTC().Format(time.RFC3339Nano) + " " + o.Content
	return convert.File{Name: key, URI: uri, Size: o.Size, Version: version, Open: func(ctx context.Context) (convert.Content, error) {
		return b.Open(ctx, key)
	}}
}

// readGroups reads a file of ids: CSV with a trajectory's id and its example's
// in each line, and no header.
func readGroups(ctx context.Context, uri string) (map[string]string, error) {
	file, _, err := storage.OpenFile(ctx, uri)
	if err != nil {
		return nil, cli.Usagef("each line is TRAJECTORY,EXAMPLE", "--group-by @%s: %w", storage.Redact(uri), err)
	}
	defer file.Close() // read only: nothing is lost
	r := csv.NewReader(io.NewSectionReader(file, 0, file.Size()))
	r.FieldsPerRecord = 2
	groups := map[string]string{}
	for {
		line, err := r.Read()
		if errors.Is(err, io.EOF) {
			return groups, nil
		}
		if err != nil {
			return nil, fault.Invalid(storage.Redact(uri), "each line is TRAJECTORY,EXAMPLE", err,
				"it is not a file of ids")
		}
		if before, ok := groups[line[0]]; ok && before != line[1] {
			return nil, fault.Invalid(storage.Redact(uri), "give each trajectory one example", nil,
				"trajectory %q has two examples, %q and %q", line[0], before, line[1])
		}
		groups[line[0]] = line[1]
	}
}
