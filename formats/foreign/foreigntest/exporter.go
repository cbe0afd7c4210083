package foreigntest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"path"
	"regexp"
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/arrow/arrowtest"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/parquet"
)

// Exporter checks what every export format guarantees: it can be written as it
// says; the same groups give the same bytes; a line and a document are JSON; our
// reader and arrow-go read the same rows from Parquet; all its forms have the
// same number of rows, which the sink counts.
func Exporter(t *testing.T, f exporters.Format, groups [][]formats.Trajectory) {
	described(t, f)
	counts := map[int64]bool{}
	if f.Lines != nil {
		file, rows := exported(t, f, f.Lines, groups)
		counts[rows] = true
		lines := bytes.SplitAfter(file, []byte("\n"))
		if n := int64(len(lines) - 1); n != rows {
			t.Errorf("%d lines where there are %d rows", n, rows)
		}
		for _, line := range lines[:len(lines)-1] {
			if !json.Valid(line) {
				t.Fatalf("%.200s is not JSON", line)
			}
		}
	}
	if f.Table != nil {
		file, rows := exported(t, f, f.Table, groups)
		counts[rows] = true
		theSameRows(t, file, rows)
	}
	if f.Other != nil {
		_, rows := exported(t, f, f.Other, groups)
		counts[rows] = true
	}
	if f.Folder != nil {
		counts[documents(t, f, groups)] = true
	}
	if counts[0] {
		t.Error("no row of any group")
	}
	if len(counts) != 1 {
		t.Errorf("the forms have different numbers of rows: %v", counts)
	}
}

// documents writes a folder and returns the number of its rows. Every document
// is JSON or JSON Lines, and has a name of its own.
func documents(t *testing.T, f exporters.Format, groups [][]formats.Trajectory) int64 {
	t.Helper()
	names := map[string]bool{}
	_, rows := exported(t, f, func(out io.Writer) exporters.Sink {
		names = map[string]bool{}
		return f.Folder(func(name string, data []byte) error {
			if names[name] || name != path.Base(name) {
				t.Errorf("a document is named %q", name)
			}
			names[name] = true
			if !json.Valid(data) {
				for line := range bytes.Lines(data) {
					if !json.Valid(line) {
						t.Fatalf("%s: %.200s is not JSON", name, line)
					}
				}
			}
			_, err := out.Write(data)
			return err
		})
	}, groups)
	if int64(len(names)) != rows {
		t.Errorf("%d documents where there are %d rows", len(names), rows)
	}
	return rows
}

// described checks what a format says of itself.
func described(t *testing.T, f exporters.Format) {
	t.Helper()
	switch {
	case f.Name == "" || f.Help == "":
		t.Fatalf("%q has no name or no help: %q", f.Name, f.Help)
	case !slices.Contains(exporters.Purposes, f.For):
		t.Fatalf("%s has no purpose of those that help lists: %q", f.Name, f.For)
	case f.Lines == nil && f.Table == nil && f.Other == nil && f.Folder == nil:
		t.Fatalf("%s has no way to be written", f.Name)
	}
	for _, e := range f.Files {
		if f.Open(e) == nil {
			t.Fatalf("%s cannot be written as %s", f.Name, e)
		}
	}
	for _, file := range exporters.Exports([]exporters.Format{f}) {
		if e := file.Extension; f.Open(e) == nil && (e != exporters.Folder || f.Folder == nil) {
			t.Fatalf("%s cannot be written as %s", f.Name, e)
		}
	}
}

// exported writes a file twice and compares the bytes.
func exported(t *testing.T, f exporters.Format, open func(io.Writer) exporters.Sink,
	groups [][]formats.Trajectory) (file []byte, rows int64) {
	t.Helper()
	var files [2]bytes.Buffer
	for i := range files {
		s := open(&files[i])
		walk := exporters.NewWalk([]exporters.Format{f}, trainset.Choice{}, formats.Tables{})
		defer walk.Close()
		items := int64(0)
		for _, group := range groups {
			err := walk.Group(group, func(of exporters.Source, x exporters.Item, reason string) error {
				if of != f.Of || reason != "" {
					return nil
				}
				x.Before, x.Given, x.Skip = items, s.Rows(), func(string) {}
				items++
				return s.Give(&x)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		rows = s.Rows()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		t.Error("the same groups gave different bytes")
	}
	return files[0].Bytes(), rows
}

// objects finds JSON objects in base64: arrow-go reads a column of type JSON as
// bytes.
var objects = regexp.MustCompile(`"eyJ[A-Za-z0-9+/=]*"`)

func asText(quoted []byte) []byte {
	text, err := base64.StdEncoding.DecodeString(string(quoted[1 : len(quoted)-1]))
	if err != nil {
		return quoted
	}
	return jsontext.AppendString(nil, string(text))
}

// theSameRows reads a Parquet file with both readers and compares the rows.
func theSameRows(t *testing.T, file []byte, rows int64) {
	t.Helper()
	want, err := arrowtest.Rows(file)
	if err != nil || int64(len(want)) != rows {
		t.Fatalf("arrow-go reads %d rows of %d: %v", len(want), rows, err)
	}
	var got []json.RawMessage
	for row, err := range parquet.JSON("file", bytes.NewReader(file), int64(len(file)), nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, row)
	}
	if !slices.EqualFunc(got, want,
		func(a, b json.RawMessage) bool { return bytes.Equal(a, objects.ReplaceAllFunc(b, asText)) }) {
		t.Error("arrow-go reads other rows")
	}
}
