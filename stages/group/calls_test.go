package group_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/group"
)

// TestCallsOfAnImport refuses rows of an import that are calls of attempts, also those of
// an import that did not count them, and trusts one that counted none.
func TestCallsOfAnImport(t *testing.T) {
	for name, c := range map[string]struct {
		facts   map[string]float64
		refused bool
	}{
		"none":      {map[string]float64{formats.FactPrefixRows: 0}, false},
		"three":     {map[string]float64{formats.FactPrefixRows: 3}, true},
		"uncounted": {nil, true},
	} {
		uri := "mem://calls-" + name
		s := must(shards.Begin(t.Context(), uri, manifest.Spec{Stage: "import", Version: 1, Kind: schema.KindTrajectories}, shards.Options{}))
		var rows []formats.Trajectory
		for i := range 3 {
			r := wide(example{"a", "0 1 2"}, 0)[i]
			for n := range 1 + i {
				r.Messages = append(r.Messages, formats.Message{Parent: int32(len(r.Messages) - 1), Role: "assistant", Content: fmt.Sprint(n), Call: -1})
			}
			rows = append(rows, r)
		}
		must(0, shards.NewTable[formats.Trajectory](s, "", -1).Write(t.Context(), rows))
		must(s.Commit(t.Context(), shards.Outcome{Facts: c.facts}))
		_, err := group.Run(t.Context(), options(uri, uri+"-group"))
		if refused := err != nil && strings.Contains(err.Error(), "3 of 3 rows are calls of an attempt"); refused != c.refused || err != nil && !refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
