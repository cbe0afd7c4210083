package examples

import (
	"bufio"
	"encoding/json"
	"io"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// source is the file that is being read.
type source struct {
	name string
	r    io.ReaderAt
	size int64
}

// readBytes is how many bytes are read at once: each read may be a request to
// an object store. Tests reduce it.
var readBytes = 1 << 20

func (s source) reader() *bufio.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(s.r, 0, s.size), readBytes)
}

// line is a row as a JSON object, with its position for messages.
type line struct {
	object json.RawMessage
	number int // of the file's line, from 1; 0 when the format has none
	short  bool
}

// readers is the list of formats.
var readers = map[string]func(source) iter.Seq2[line, error]{
	"csv":     readCSV,
	"json":    readJSON,
	"jsonl":   readJSONL,
	"parquet": readParquet,
}

var extensions = map[string]string{
	".csv":     "csv",
	".json":    "json",
	".jsonl":   "jsonl",
	".ndjson":  "jsonl",
	".parquet": "parquet",
}

// Formats returns the formats that Read knows, sorted.
func Formats() []string { return slices.Sorted(maps.Keys(readers)) }

func reader(name, format string) (func(source) iter.Seq2[line, error], error) {
	known := strings.Join(Formats(), ", ")
	if format != "" {
		if read, ok := readers[format]; ok {
			return read, nil
		}
		return nil, formats.Invalid(name, "known formats: "+known, nil, "unknown format %q", format)
	}
	base, _, _ := strings.Cut(name, "?")
	ext := strings.ToLower(path.Ext(base))
	if f, ok := extensions[ext]; ok {
		return readers[f], nil
	}
	hint := "set the format with --examples-format; known formats are " + known
	if ext == ".xls" || ext == ".xlsx" {
		hint = "save the sheet as CSV; known formats are " + known
	}
	return nil, formats.Invalid(name, hint, nil, "the extension %q names no known format", ext)
}

const wantWhole = "look there: the file may be cut short, or a quote or bracket left open"

// invalid returns an InputError about one row, with its line number if there is
// one.
func invalid(name string, row int, err error, format string, args ...any) error {
	e := formats.Invalid(name, wantWhole, err, format, args...)
	e.Row = int64(row)
	return e
}
