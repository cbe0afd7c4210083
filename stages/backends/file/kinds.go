package file

import (
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/art"
	"github.com/rollmill/rollmill/formats/customizer"
	"github.com/rollmill/rollmill/formats/nemorl"
	"github.com/rollmill/rollmill/formats/openrlhf"
	"github.com/rollmill/rollmill/formats/slime"
	"github.com/rollmill/rollmill/formats/trl"
	"github.com/rollmill/rollmill/formats/verl"
)

// kind is one file and how it is written.
type kind struct {
	name string
	file string
	open func(out io.Writer) sink
}

var kinds = []kind{
	{"art", "art.jsonl", func(out io.Writer) sink { return &artLines{out: out} }},
	{"art-log-v1", "art-log-v1.parquet", table(func(b *batch) []art.LogRow { return art.LogRows(b.rows, b.group) })},
	{"art-log-v2", "art-log-v2.parquet", noted(art.LogVersionKey, art.LogVersion2, table(func(b *batch) []art.LogRow2 { return art.LogRows2(b.rows, b.group) }))},
	{"trl-preference", "trl-preference.jsonl", lines(each(trl.Pair))},
	{"trl-preference-parquet", "trl-preference.parquet", table(each(trl.Pair))},
	{"trl-kto", "trl-kto.jsonl", lines(func(b *batch) []trl.Unpaired { return trl.UnpairedOf(b.rows, b.skip) })},
	{"trl-sft", "trl-sft.jsonl", lines(each(trl.Best))},
	{"trl-prompts", "trl-prompts.jsonl", lines(each(trl.PromptOf))},
	{"verl", "verl.parquet", table(func(b *batch) []verl.Row {
		return each(func(rows []formats.Trajectory) (verl.Row, string) { return verl.RowOf(rows, b.given) })(b)
	})},
	{"openrlhf-prompts", "openrlhf-prompts.jsonl", lines(each(openrlhf.PromptOf))},
	{"openrlhf-preference", "openrlhf-preference.jsonl", lines(each(openrlhf.Pair))},
	{"nemo-rl-preference", "nemo-rl-preference.jsonl", lines(each(nemorl.Pair))},
	{"slime", "slime.jsonl", lines(func(b *batch) []slime.Sample { return slime.Samples(b.rows, b.group, b.given, b.skip) })},
	{"customizer-dpo", "customizer-dpo.jsonl", lines(each(customizer.Pair))},
}

// Kinds lists the files that can be written.
func Kinds() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name)
	}
	return out
}

// batch is one group on its way into a file.
type batch struct {
	rows  []formats.Trajectory
	group int64 // groups before it
	given int64 // rows of the file before it
	skip  func(reason string)
}

// each makes at most one row of a group.
func each[T any](row func([]formats.Trajectory) (T, string)) func(*batch) []T {
	return func(b *batch) []T {
		r, reason := row(b.rows)
		if reason != "" {
			b.skip(reason)
			return nil
		}
		return []T{r}
	}
}
