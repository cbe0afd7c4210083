package importers

import (
	"fmt"
	"strings"
	"testing"
)

// TestPieces: each element of a list is a record, with what is beside the list unless that
// is too long to be repeated, which is named.
func TestPieces(t *testing.T) {
	long := strings.Repeat("x", maxBeside)
	o := &Options{Map: map[string]string{"messages": "a.runs.turns.said", "reward": "a.runs.score"}}
	got := ""
	for piece, lost := range o.Pieces([]byte(`{"few":[1],"many":["` + long + `"],"a":{"big":{"x":"` + long + `"},"runs":[{"score":1,"turns":[{"said":2},{"said":3}]},{"turns":[]},{"score":4}],"n":5}}`)) {
		got += fmt.Sprintf("%s %v\n", piece, lost)
	}
	const want = `{"few":[1],"a":{"runs":{"score":1,"turns":{"said":2}},"n":5}} [many big]
{"few":[1],"a":{"runs":{"score":1,"turns":{"said":3}},"n":5}} [many big]
{"few":[1],"a":{"runs":{"score":4},"n":5}} [many big]
`
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
