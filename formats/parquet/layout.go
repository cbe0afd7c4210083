package parquet

import (
	"reflect"
	"strings"
	"unicode"

	pq "github.com/parquet-go/parquet-go"

	"github.com/rollmill/rollmill/formats"
)

const (
	// groupRows and groupBytes bound a row group; one group of rows that is
	// larger than either has a row group to itself.
	groupRows  = 4096
	groupBytes = 64 << 20 // logical

	joinPage  = 64 << 10  // heavy pages of groups under this are joined
	splitPage = 8 << 20   // heavy pages of a group over this are split, between rows
	pageBytes = 1 << 20   // of a light page
	maxPage   = 256 << 20 // no larger page is written, nor read

	codecName = "zstd"
)

// heavy lists the leaves that hold nearly all bytes of wide rows. They have
// neither dictionary nor statistics, and are what curate copies by the page.
var heavy = map[string]bool{
	"example":                       true,
	"messages.content":              true,
	"messages.content_parts":        true,
	"messages.reasoning":            true,
	"messages.tool_calls.arguments": true,
	"messages.token_ids":            true,
	"messages.logprobs":             true,
	"messages.prompt_delta_ids":     true,
	"candidates.content":            true,
}

// columnName is a leaf's path as users write it: without the two levels that
// a Parquet list puts between a field and its elements.
func columnName(path []string) string {
	var out []string
	for i := 0; i < len(path); i++ {
		out = append(out, path[i])
		if i+2 < len(path) && path[i+1] == "list" && path[i+2] == "element" {
			i += 2
		}
	}
	return strings.Join(out, ".")
}

// options are parquet-go's for rows of type T. Both Skip options are needed:
// SkipPageBounds alone leaves whole message texts in page headers.
func options[T any]() []pq.WriterOption {
	t := reflect.TypeFor[T]()
	schema := pq.NewSchema(kindName(t), pq.SchemaOf(reflect.New(t).Interface()))
	out := []pq.WriterOption{schema, pq.Compression(codec{}), pq.PageBufferSize(pageBytes),
		pq.CreatedBy("rollmill", formats.SchemaVersion, "")}
	for _, path := range schema.Columns() {
		if heavy[columnName(path)] {
			out = append(out, pq.SkipPageBounds(path...), pq.SkipPageStatistics(path...))
		}
	}
	return out
}

// kindName is the schema's name: the Go type's, in lower case with underscores.
func kindName(t reflect.Type) string {
	var b strings.Builder
	for i, r := range t.Name() {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	if b.Len() == 0 {
		return "row"
	}
	return b.String()
}
