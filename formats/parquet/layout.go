package parquet

import (
	"strings"
)

const (
	// groupRows and groupBytes bound a row group; one group of rows that is
	// larger than either has a row group to itself.
	groupRows  = 4096
	groupBytes = 64 << 20 // logical

	joinPage = 64 << 10 // heavy pages of groups under this are joined
	maxPage  = 1 << 30  // no page that inflates beyond is read
)

// heavy lists the leaves that hold nearly all bytes of wide rows. They are
// what curate copies by the page.
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
