package file

import (
	"io"
	"path"
	"slices"

	"github.com/rollmill/rollmill/formats/exporters"
	"github.com/rollmill/rollmill/formats/exporters/all"
)

// kind is one file and its format.
type kind struct {
	name   string
	file   string
	format exporters.Format
	open   func(io.Writer) exporters.Sink
}

var kinds = kindsOf("art.jsonl", "art-log-v1.parquet", "art-log-v2.parquet",
	"trl-preference.jsonl", "trl-preference.parquet", "trl-kto.jsonl", "trl-sft.jsonl", "trl-prompts.jsonl",
	"verl.parquet", "openrlhf-prompts.jsonl", "openrlhf-preference.jsonl", "openrlhf-kto.jsonl",
	"nemo-rl-preference.jsonl", "slime.jsonl", "customizer-dpo.jsonl", "customizer-sft.jsonl")

// kindsOf returns the kinds of files. They are named after their formats; a
// second file of a format has its extension, too.
func kindsOf(files ...string) (out []kind) {
	for _, file := range files {
		ext := path.Ext(file)
		name := file[:len(file)-len(ext)]
		k := kind{name: name, file: file, format: all.Named(name)}
		k.open = k.format.Lines
		if ext == ".parquet" {
			k.open = k.format.Table
		}
		if slices.ContainsFunc(out, func(k kind) bool { return k.name == name }) {
			k.name += "-" + ext[1:]
		}
		out = append(out, k)
	}
	return out
}

// Kinds lists the files that can be written.
func Kinds() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name)
	}
	return out
}

func formatsOf(kinds []kind) (out []exporters.Format) {
	for _, k := range kinds {
		out = append(out, k.format)
	}
	return out
}
