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
	of   source
	open func(out io.Writer) sink
}

// source is what a file's rows are made of.
type source string

const (
	ofGroups source = "groups"
	ofTop    source = "best members"      // of each group: Config.Best
	ofPairs  source = formats.TablePairs  // or of each group's best against its worst
	ofLabels source = formats.TableLabels // or of advantages
)

var kinds = []kind{
	{"art", "art.jsonl", ofGroups, func(out io.Writer) sink { return &artLines{out: out} }},
	{"art-log-v1", "art-log-v1.parquet", ofGroups, table(func(b *batch) []art.LogRow { return art.LogRows(b.rows, b.group) })},
	{"art-log-v2", "art-log-v2.parquet", ofGroups, noted(art.LogVersionKey, art.LogVersion2, table(func(b *batch) []art.LogRow2 { return art.LogRows2(b.rows, b.group) }))},
	{"trl-preference", "trl-preference.jsonl", ofPairs, lines(pair(always[trl.Preference]))},
	{"trl-preference-parquet", "trl-preference.parquet", ofPairs, table(pair(always[trl.Preference]))},
	{"trl-kto", "trl-kto.jsonl", ofLabels, lines(label(func(u trl.Unpaired) trl.Unpaired { return u }))},
	{"trl-sft", "trl-sft.jsonl", ofTop, lines(each(trl.Best))},
	{"trl-prompts", "trl-prompts.jsonl", ofGroups, lines(each(trl.PromptOf))},
	{"verl", "verl.parquet", ofGroups, table(func(b *batch) []verl.Row {
		return each(func(rows []formats.Trajectory) (verl.Row, string) { return verl.RowOf(rows, b.given) })(b)
	})},
	{"openrlhf-prompts", "openrlhf-prompts.jsonl", ofGroups, lines(each(openrlhf.PromptOf))},
	{"openrlhf-preference", "openrlhf-preference.jsonl", ofPairs, lines(pair(func(p trl.Preference) (openrlhf.Preference, string) { return openrlhf.PreferenceOf(p), "" }))},
	{"openrlhf-kto", "openrlhf-kto.jsonl", ofLabels, lines(label(openrlhf.UnpairedOf))},
	{"nemo-rl-preference", "nemo-rl-preference.jsonl", ofPairs, lines(pair(func(p trl.Preference) (nemorl.Row, string) { return nemorl.RowOf(p), "" }))},
	{"slime", "slime.jsonl", ofGroups, lines(func(b *batch) []slime.Sample { return slime.Samples(b.rows, b.group, b.given, b.skip) })},
	{"customizer-dpo", "customizer-dpo.jsonl", ofPairs, lines(pair(customizer.PreferenceOf))},
	{"customizer-sft", "customizer-sft.jsonl", ofTop, lines(each(customizer.ConversationOf))},
}

// Kinds lists the files that can be written.
func Kinds() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name)
	}
	return out
}

// batch is one group on its way into a file, or one preference or answer of it.
type batch struct {
	rows   []formats.Trajectory
	pair   trl.Preference
	single trl.Unpaired
	group  int64 // groups before it
	given  int64 // rows of the file before it
	skip   func(reason string)
	count  func(desirable bool)
}

// each makes at most one row of a group.
func each[T any](row func([]formats.Trajectory) (T, string)) func(*batch) []T {
	return func(b *batch) []T {
		r, reason := row(b.rows)
		return one(b, r, reason)
	}
}

// pair makes at most one row of a preference.
func pair[T any](row func(trl.Preference) (T, string)) func(*batch) []T {
	return func(b *batch) []T {
		r, reason := row(b.pair)
		return one(b, r, reason)
	}
}

// label makes a row of a single answer.
func label[T any](row func(trl.Unpaired) T) func(*batch) []T {
	return func(b *batch) []T {
		b.count(b.single.Label)
		return []T{row(b.single)}
	}
}

func always[T any](row T) (T, string) { return row, "" }

func one[T any](b *batch, row T, reason string) []T {
	if reason != "" {
		b.skip(reason)
		return nil
	}
	return []T{row}
}
