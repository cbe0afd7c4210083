package settings

import (
	"context"
	"strconv"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Spilling sets the memory for sorting, and the folder of temporary files for larger data.
type Spilling struct {
	Dir string
	MiB int64

	What string // what is sorted, for help
}

func (s *Spilling) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Execution)
	d.String(&s.Dir, "spill-dir",
		"sort "+s.What+" with temporary files in this `DIR`").DefaultShown("the system's temporary folder")
	d.Int64(&s.MiB, "spill-memory", "sort in at most `MIB` of memory, then with temporary files").Min(0).
		DefaultShown(strconv.Itoa(stages.DefaultSpillMemory >> 20))
}

func (s *Spilling) Limits() stages.Spill { return stages.Spill{Dir: s.Dir, Memory: s.MiB << 20} }

// Stage is what a stage asks for that reads a dataset and writes another beside it.
type Stage struct {
	Source
	Epoch *int
	RunPlace
	Target
	Monitored
}

// DeclareInput declares what is read, and DeclareOutput where it is and what is written.
func (t *Stage) DeclareInput(d *plugin.Declarer) {
	d.Include(&t.Source)
	d.Heading(plugin.Input)
	d.OptionalInt(&t.Epoch, "epoch", "read and write in the folder of epoch `N` of --root, when --in names no dataset; with an --out "+
		"of its own, in that of its last refill").Min(0).Common()
}

func (t *Stage) DeclareOutput(d *plugin.Declarer) {
	d.Include(&t.RunPlace)
	d.Include(&t.Target)
	d.Include(&t.Monitored)
}

// Places returns what the stage reads and writes, and tells the session where. With an output of its
// own it reads the last refill; a stage itself, given again, reads what it read before.
func (t *Stage) Places(ctx context.Context, s *cli.Session, epoch *int, validation bool) (in stages.Input,
	out stages.Output, err error) {
	from := t.Source
	if t.As+t.Target.URI != "" && !validation {
		in, err = t.LastInput(ctx, s, from, epoch)
	} else {
		if from.URI == "" && epoch != nil {
			from.URI = t.Layout().Input(*epoch, s.Command, validation)
		}
		in, err = from.Open(s)
	}
	if err == nil {
		out, err = t.OpenSibling(s, in.URI)
	}
	t.Place(s, epoch, validation)
	return in, out, err
}
