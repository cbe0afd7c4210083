package settings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage"
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

// gates are those of all stages, and that of submit --echo.
var gates = []string{"max-failure-rate", "missing-field", "min-groups", "max-flat-groups", "labels", "mismatch"}

// DeclareGates declares the gates to ignore. A gate that an input has not may be named, as scripts do.
func DeclareGates(d *plugin.Declarer, p *[]string) {
	plugin.List(d, p, "accept-gate", "read the input even if the gate `NAME` refused it", func(name string) (string, error) {
		if !slices.Contains(gates, name) {
			hint := plugin.Nearest(name, gates, "gates: "+strings.Join(gates, ", "))
			return "", plugin.Badf(hint, "there is no gate %q", name)
		}
		return name, nil
	}).Choices = gates
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
