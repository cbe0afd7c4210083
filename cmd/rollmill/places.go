package main

import (
	"cmp"
	"strconv"

	layout "github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage"
)

// source names the dataset that a command reads.
type source struct {
	URI         string
	AcceptGates []string

	what string // it is, for help
}

func (in *source) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	d.String(&in.URI, "in", "read "+in.what+" at this `URI`; - takes it from stdin").Open()
	declareGates(d, &in.AcceptGates)
}

// declareGates declares the gates that are overruled.
func declareGates(d *plugin.Declarer, p *[]string) {
	d.Strings(p, "accept-gate", "read the input although the gate `NAME` refused it")
}

const nameInput = "name the dataset to read: --in URI, --in - to take it from stdin, or --root and --epoch"

// open resolves the dataset that a command reads.
func (in *source) open(s *session) (stages.Input, error) {
	uri, err := s.uri("in", in.URI)
	if err != nil {
		return stages.Input{}, err
	}
	if uri == "" {
		return stages.Input{}, usage(nameInput, "no input")
	}
	return stages.Input{URI: uri, AcceptGates: in.AcceptGates}, nil
}

// looked names a dataset, or a folder of them, that a command only looks at:
// gates that refused it do not matter.
type looked struct {
	URI string

	help string
}

func (l *looked) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	d.String(&l.URI, "in", l.help+" at this `URI`; - takes it from stdin").Open()
}

// open resolves the URI.
func (l *looked) open(s *session) (string, error) {
	in, err := (&source{URI: l.URI}).open(s)
	return in.URI, err
}

// target says where a command writes, and which slice of the work it does.
type target struct {
	URI       string
	Shard     string
	Overwrite bool

	otherwise string // the default of URI, for help
}

func (out *target) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Output)
	d.String(&out.URI, "out", "write the dataset at this `URI`").Shown(out.otherwise).Open()
	d.String(&out.Shard, "shard", "do slice `I/N` of the work; auto/N takes I from Slurm, Kubernetes, AWS Batch, GNU parallel or Airflow")
	d.Bool(&out.Overwrite, "overwrite", "replace a dataset of another identity")
}

// open resolves where a command writes; otherwise is the default.
func (out *target) open(s *session, otherwise string) (stages.Output, error) {
	o := stages.Output{URI: out.URI, Overwrite: out.Overwrite}
	if o.URI == "" {
		o.URI = otherwise
	}
	shard, err := stages.ParseShard(out.Shard, s.lookup)
	o.Shard = shard
	return o, err
}

// besides is open with the default that most stages have: a sibling of the
// input, named after the command.
func (out *target) besides(s *session, in string) (stages.Output, error) {
	dir, name := storage.Split(in)
	if name == s.command && out.URI == "" {
		return stages.Output{}, usage("name it with --out", "the input %q is named like the output would be", storage.Redact(in))
	}
	return out.open(s, storage.Join(dir, s.command))
}

// spilling says where and in how much memory to sort.
type spilling struct {
	Dir string
	MiB int64

	what string // is sorted, for help
}

func (s *spilling) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Execution)
	d.String(&s.Dir, "spill-dir", "sort "+s.what+" in files in this `DIR`").Shown("the system's folder for temporary files")
	d.Int64(&s.MiB, "spill-memory", "sort in `MIB` of memory before files are used").Shown(strconv.Itoa(stages.DefaultSpillMemory >> 20))
}

func (s *spilling) spill() stages.Spill { return stages.Spill{Dir: s.Dir, Memory: s.MiB << 20} }

// runPlace names the run and its folder.
type runPlace struct {
	Run, Root string

	heading string // default plugin.Output
}

func (p *runPlace) Declare(d *plugin.Declarer) {
	d.Heading(cmp.Or(p.heading, plugin.Output))
	d.String(&p.Run, "run", "`NAME` of the run, part of every trajectory's id").Shown("the last part of --root, else run").Open()
	d.String(&p.Root, "root", "`URI` of the run's folder, which holds epoch-0, epoch-1, ...").Shown("runs/<run>").Open()
}

// layout is where the datasets of the run lie.
func (p *runPlace) layout() layout.Layout {
	_, root := p.both()
	return layout.Layout{Root: root}
}

// input is what a stage reads: the dataset that is named, else, of an epoch that
// is named, what the stage before it wrote there.
func (p *runPlace) input(s *session, in source, epoch *int, validation bool) (stages.Input, error) {
	if in.URI == "" && epoch != nil {
		in.URI = p.layout().Input(*epoch, s.command, validation)
	}
	return in.open(s)
}

// both are the run's name and folder, each by default from the other.
func (p *runPlace) both() (run, root string) {
	run, root = p.Run, p.Root
	if run == "" && root != "" {
		_, run = storage.Split(root)
	}
	if run == "" {
		run = "run"
	}
	if root == "" {
		root = storage.Join("runs", run)
	}
	return run, root
}
