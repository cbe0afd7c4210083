package records

import (
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/storage/fault"
)

// readers is the list of formats. Each calls yield with the rows until it returns false.
var readers = map[string]func(s File, yield func(Record) bool) error{
	"arrow":   readArrow,
	"csv":     readCSV,
	"json":    readJSON,
	"jsonl":   readJSONL,
	"parquet": readParquet,
}

var extensions = map[string]string{
	".arrow":   "arrow",
	".csv":     "csv",
	".json":    "json",
	".traj":    "json", // a document of SWE-agent
	".jsonl":   "jsonl",
	".ndjson":  "jsonl",
	".parquet": "parquet",
}

// Formats returns the formats that Read knows, sorted.
func Formats() []string { return slices.Sorted(maps.Keys(readers)) }

// Extensions returns the extensions of files that Read knows, sorted.
func Extensions() []string { return slices.Sorted(maps.Keys(extensions)) }

func (s File) reader(format string) (func(File, func(Record) bool) error, error) {
	known := "known formats are " + strings.Join(Formats(), ", ")
	if format != "" {
		if read, ok := readers[format]; ok {
			return read, nil
		}
		return nil, fault.Invalid(s.Name, known, nil, "unknown format %q", format)
	}
	ext := Extension(s.Name)
	if f, ok := extensions[ext]; ok {
		return readers[f], nil
	}
	hint := known
	if s.Flag != "" {
		hint = "set the format with " + s.Flag + "; " + known
	}
	if ext == ".xls" || ext == ".xlsx" {
		hint = "save the sheet as CSV; " + known
	}
	return nil, fault.Invalid(s.Name, hint, nil, "the extension %q names no known format", ext)
}
