package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/stages/plugin"
)

// grind are the settings of the commands of the sample app.
type grind struct {
	In, Size string
	Rows     int
	Clean    bool
}

func (g *grind) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	d.String(&g.In, "in", "grind the corn at this `URI`")
	d.Int(&g.Rows, "rows", "grind `N` rows")
	plugin.Choice(d, &g.Size, "grain-size", "grind to this `SIZE`", "fine", "coarse")
	d.Bool(&g.Clean, "clean", "clean the mill first")
}

// sample returns an app whose commands print their settings.
func sample() *App {
	command := func(name, args string, takes ...string) Command {
		return Command{Name: name, Heading: "Commands", Usage: "do " + name, About: "It does " + name + ".", Args: args, ArgSettings: takes,
			Body: With(func() *grind { return &grind{Size: "fine", Rows: 5} }, func(_ context.Context, s *Session, g *grind) error {
				return s.Result(s.Command, g)
			})}
	}
	return &App{
		Usage: "grind corn", DataFlow: "corn -> flour", Version: "1",
		Commands: []Command{
			command("grind", ""), command("show", "URI", "in"), command("explain", "ID"),
			{Name: "mix", Heading: "Commands", Usage: "mix flour", Parts: []Command{command("mix dry", "URI", "in"), command("mix wet", "")}},
			{Name: "job", Heading: "Others", Usage: "handle jobs", Parts: []Command{command("job list", ""), command("job wait", "")}},
			Completion(),
		},
		Guides: fstest.MapFS{}, Schemas: fstest.MapFS{},
	}
}

// runSample runs a command of the sample app.
func runSample(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, log bytes.Buffer
	none := func(string) (string, bool) { return "", false }
	code = sample().Run(t.Context(), append([]string{"rollmill"}, args...), terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &log, Lookup: none})
	return code, out.String(), log.String()
}

// TestSettings checks that a command gets its settings from each place.
func TestSettings(t *testing.T) {
	for _, c := range []struct {
		line, stdout string
	}{
		{"grind --json", `{"In":"","Size":"fine","Rows":5,"Clean":false}`},
		{"--json grind --rows 2 --clean --grain-size coarse", `{"In":"","Size":"coarse","Rows":2,"Clean":true}`},
		{"show x --json --set show.rows=3", `{"In":"x","Size":"fine","Rows":3,"Clean":false}`},
		{"job list", "job list"},
		{"mix wet --rows 2 --json", `{"In":"","Size":"fine","Rows":2,"Clean":false}`},
		{"mix dry x --json", `{"In":"x","Size":"fine","Rows":5,"Clean":false}`},
		{"mix --json dry --rows 2 x", `{"In":"x","Size":"fine","Rows":2,"Clean":false}`},
	} {
		if code, stdout, stderr := runSample(t, strings.Fields(c.line)...); code != 0 || stdout != c.stdout+"\n" {
			t.Errorf("%s: exit code %d, %s%s", c.line, code, stdout, stderr)
		}
	}
}
