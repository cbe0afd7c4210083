package settings

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/look/history"
	layout "github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Source names the dataset that a command reads.
type Source struct {
	URI         string
	AcceptGates []string

	Does  string // what --in does, for help
	Looks bool   // the dataset, or folder of datasets, is only displayed: also one that a gate refused
}

func (i *Source) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	d.String(&i.URI, "in", i.Does+" at this `URI`; - reads the URI from stdin").WrittenToRows().Common()
	if !i.Looks {
		DeclareGates(d, &i.AcceptGates)
	}
}

// DeclareGates declares the gates to ignore.
func DeclareGates(d *plugin.Declarer, p *[]string) {
	d.Strings(p, "accept-gate", "read the input even if the gate `NAME` refused it")
}

const NameInput = "name the dataset to read: --in URI, --in - to read the URI from stdin, or --root and --epoch"

// Open returns the dataset that a command reads.
func (i *Source) Open(s *cli.Session) (stages.Input, error) {
	uri, err := s.URI("in", i.URI)
	if err != nil {
		return stages.Input{}, err
	}
	if uri == "" {
		hint := NameInput
		if !s.Has("epoch") {
			hint, _, _ = strings.Cut(NameInput, ", or --root")
		}
		return stages.Input{}, cli.Usagef(hint, "no input")
	}
	return stages.Input{URI: uri, AcceptGates: i.AcceptGates}, nil
}

// Target is where a command writes, and which shard of the work it does.
type Target struct {
	URI       string
	Shard     string
	Overwrite bool

	Otherwise string // the default of URI, for help
	As        string // name of the sibling; "" for the command's
}

func (out *Target) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Output)
	d.String(&out.URI, "out", "write the dataset at this `URI`").DefaultShown(out.Otherwise).WrittenToRows().Common()
	d.String(&out.Shard, "shard",
		"do shard `I/N` of the work; auto/N reads I from Slurm, Kubernetes, AWS Batch, GNU parallel or Airflow")
	d.Bool(&out.Overwrite, "overwrite", "replace an existing dataset of another identity")
}

// Open returns the output; otherwise is the default URI.
func (out *Target) Open(s *cli.Session, otherwise string) (stages.Output, error) {
	shard, err := stages.ParseShard(out.Shard, s.Lookup)
	return stages.Output{URI: cmp.Or(out.URI, otherwise), Shard: shard, Overwrite: out.Overwrite}, err
}

// OpenSibling is open with the default of most stages: a sibling of the input,
// named after the command, or as --as says.
func (out *Target) OpenSibling(s *cli.Session, in string) (stages.Output, error) {
	dir, name := storage.Split(in)
	as := cmp.Or(out.As, s.Command)
	if name == as && out.URI == "" {
		return stages.Output{}, cli.Usagef("set --out", "the input %q has the name that the output would get",
			storage.Redact(in))
	}
	return out.Open(s, storage.Join(dir, as))
}

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
	d.Int64(&s.MiB, "spill-memory", "sort in at most `MIB` of memory, then with temporary files").
		DefaultShown(strconv.Itoa(stages.DefaultSpillMemory >> 20))
}

func (s *Spilling) Limits() stages.Spill { return stages.Spill{Dir: s.Dir, Memory: s.MiB << 20} }

// RunPlace names the run and its folder.
type RunPlace struct {
	Run, Root string

	Heading string // default plugin.Output
	Usage   string // help of --run; default that of rollout
}

func (p *RunPlace) Declare(d *plugin.Declarer) {
	d.Heading(cmp.Or(p.Heading, plugin.Output))
	d.String(&p.Run, "run", cmp.Or(p.Usage, "name the run `NAME`, which is part of every trajectory id")).
		DefaultShown("the last part of --root, else run").WrittenToRows()
	d.String(&p.Root, "root", "use the run's folder at this `URI`, which holds epoch-0, epoch-1, ...").DefaultShown("runs/<run>").
		WrittenToRows().Common()
}

// Layout returns the URIs of the run's datasets.
func (p *RunPlace) Layout() layout.Layout {
	_, root := p.Both()
	return layout.Layout{Root: root}
}

// Known returns the policy of the receipt at a URI, else the one that the run had
// before the given epoch: if the run began with a receipt (submit --prepare), the
// previous epoch must have left one. It returns nil if there is none.
func (p *RunPlace) Known(ctx context.Context, uri string, epoch *int) (*receipts.Policy, error) {
	if uri != "" || epoch == nil {
		return Policy(ctx, uri)
	}
	first, err := ReceiptAt(ctx, p.Layout().Policy())
	if errors.Is(err, storage.ErrNotExist) {
		return nil, nil
	}
	if err != nil || first.Policy == nil {
		return nil, err
	}
	return Policy(ctx, p.Layout().Sampled(*epoch))
}

// Curated returns the curated dataset of an epoch: the last one, if its plan was made.
func (p *RunPlace) Curated(ctx context.Context, epoch int) (string, error) {
	dir, err := history.Last(ctx, p.Layout().Epoch(epoch), "curate")
	return storage.Join(dir, "curate"), err
}

// LastInput returns the dataset that is named, else what a stage reads in the last refill of the
// epoch that is named: what trained.
func (p *RunPlace) LastInput(ctx context.Context, s *cli.Session, in Source, epoch *int) (stages.Input, error) {
	if in.URI == "" && epoch != nil {
		dir, name := storage.Split(p.Layout().Input(*epoch, s.Command, false))
		dir, err := history.Last(ctx, dir, name)
		if err != nil {
			return stages.Input{}, err
		}
		in.URI = storage.Join(dir, name)
	}
	return in.Open(s)
}

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
		"of its own, in that of its last refill").Common()
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

// Folder returns the run's folder, which a command must name: its synopsis is the hint.
func (p *RunPlace) Folder(synopsis string) (string, error) {
	if p.Run == "" && p.Root == "" {
		return "", cli.Usagef("name the run's folder: rollmill "+synopsis, "no run")
	}
	_, root := p.Both()
	return root, nil
}

// Both returns the run's name and folder; each defaults to a value derived from the other.
func (p *RunPlace) Both() (run, root string) {
	run = p.Run
	if run == "" && p.Root != "" {
		_, run = storage.Split(p.Root)
	}
	run = cmp.Or(run, "run")
	return run, cmp.Or(p.Root, storage.Join("runs", run))
}

// EpochRange is a range of a run's epochs: "3..7", "3.." up to the last, "3", or "" for all.
type EpochRange string

// Of returns the epochs of the range, in order. Each has a folder in the run.
func (r EpochRange) Of(ctx context.Context, root string) ([]int, error) {
	there, err := EpochsAt(ctx, root)
	if err != nil || r == "" {
		return there, err
	}
	from, to, ranged := strings.Cut(string(r), "..")
	first, err := strconv.Atoi(from)
	last := first
	if to != "" && err == nil {
		last, err = strconv.Atoi(to)
	} else if ranged && len(there) > 0 {
		last = max(first, there[len(there)-1])
	}
	if err != nil || first < 0 || last < first {
		return nil, cli.Usagef("write 3..7, 3.. up to the last, or 3", "--epochs %q is no range", r)
	}
	for e := first; e <= last; e++ {
		if !slices.Contains(there, e) {
			return nil, fault.Invalid(storage.Redact(root), "name the folder of epoch-0, and epochs that are in it",
				storage.ErrNotExist, "--epochs %s: there is no epoch %d", r, e)
		}
	}
	return slices.DeleteFunc(there, func(e int) bool { return e < first || e > last }), nil
}
