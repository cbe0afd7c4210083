package plugin_test

import (
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/stages/plugin"
)

type part struct{ n int }

func (p *part) Declare(d *plugin.Declarer) { d.Int(&p.n, "part-n", "`N`").ID("part-n") }

type kind struct{ plugin.Kind[plugin.Settings] }

type whole struct {
	before, after int
	parts         plugin.Each[plugin.Settings, kind]
}

func (w *whole) Declare(d *plugin.Declarer) {
	d.Int(&w.before, "before", "`N`").IDAlways("outer.before")
	d.Include(w.parts)
	d.Int(&w.after, "after", "`N`").ID("outer.after")
}

// Fresh settings need not have the plug-ins, wherever they are declared, and a
// plug-in's settings are not in the identity of who uses it.
func TestIdentityOfSettingsWithPlugIns(t *testing.T) {
	parts := plugin.Every(plugin.NewRegistry[plugin.Settings]("part",
		kind{plugin.Kind[plugin.Settings]{Name: "p", New: func() plugin.Settings { return &part{n: 1} }}}))
	for after, want := range map[int]string{0: "map[outer:map[before:0]]", 2: "map[outer:map[after:2 before:0]]"} {
		if got := fmt.Sprint(plugin.Identity(&whole{after: after, parts: parts}, &whole{})); got != want {
			t.Errorf("after %d: %s, want %s", after, got, want)
		}
	}
}
