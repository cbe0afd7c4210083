package prove

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/find"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/regular"
	"github.com/rollmill/rollmill/storage/scratch"
)

// Options say what to prove.
type Options struct {
	Stages
	URI       string         // of an epoch, a run or a dataset
	Programs  bool           // run the reward programs that manifests name
	Dir       string         // for what is made again; "" is the system's
	Sequences exporters.File // sequences.parquet

	// Ledger returns the submissions of the ledger that a receipt names.
	Ledger func(context.Context, *find.Receipt) ([]submit.Listed, error)
}

// Result is what was computed again.
type Result struct {
	URI    string   `json:"uri"`
	Equal  bool     `json:"equal"`  // something was computed again, and nothing of it differs
	Proofs []*Proof `json:"proofs"` // each after those that it was made from
}

// Proof is what was found of a dataset, a receipt or a file of a trainer.
type Proof struct {
	Name     string      `json:"name"` // relative to the result's URI
	Rows     int64       `json:"rows"`
	Differs  *Difference `json:"differs,omitempty"`  // the first
	Damage   string      `json:"damage,omitempty"`   // how the bytes are not those of its manifest
	Unproved string      `json:"unproved,omitempty"` // why it was not computed again
	Trained  string      `json:"trained,omitempty"`  // of a receipt: where, and in which steps
}

// Difference is a number that is not what follows from what it was made of.
type Difference struct {
	Row          int64  `json:"row"`
	TrajectoryID string `json:"trajectory_id,omitempty"`
	Column       string `json:"column"`
	Stored       any    `json:"stored"`
	Computed     any    `json:"computed"`
}

// prover is one run.
type prover struct {
	Options
	found *find.Found
	dir   string
	out   *Result
}

// Run computes again what is under a URI. A difference is no error; an error means that
// something could not be read.
func Run(ctx context.Context, o Options) (result *Result, err error) {
	found, err := find.Find(ctx, o.URI)
	if err != nil {
		return nil, err
	}
	dir, err := scratch.Make(o.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, dir.Close()) }()
	p := &prover{o, found, dir.Path, &Result{URI: found.Root, Proofs: []*Proof{}}}
	slices.SortStableFunc(found.Datasets, func(a, b *dataset.Dataset) int { return p.depth(a) - p.depth(b) })
	for i, d := range found.Datasets {
		proof, err := p.dataset(ctx, d, filepath.Join(dir.Path, fmt.Sprint(i)))
		if err != nil {
			return nil, err
		}
		p.add(&proof)
	}
	for _, problem := range found.Problems {
		p.add(&Proof{Name: ".", Damage: problem})
	}
	for i := range found.Receipts {
		if err := p.receipt(ctx, &found.Receipts[i]); err != nil {
			return nil, err
		}
	}
	p.out.Equal = p.out.computed() > 0 && !slices.ContainsFunc(p.out.Proofs, (*Proof).wrong)
	return p.out, nil
}

func (p *prover) add(proof *Proof) { p.out.Proofs = append(p.out.Proofs, proof) }

// computed returns how many of them were computed again.
func (r *Result) computed() (n int) {
	for _, p := range r.Proofs {
		if p.Unproved == "" && p.Damage == "" {
			n++
		}
	}
	return n
}

func (p *Proof) wrong() bool { return p.Differs != nil || p.Damage != "" }

// depth returns how many of the datasets found are above one, in the longest line.
func (p *prover) depth(d *dataset.Dataset) (n int) {
	for _, r := range d.Inputs {
		for _, in := range p.found.Datasets {
			if in.Is(&r) {
				n = max(n, 1+p.depth(in))
			}
		}
	}
	return n
}

// name returns a URI relative to the one that is proved, without a store's parameters.
func (p *prover) name(uri string) string {
	root, _, _ := strings.Cut(p.found.Root, "?")
	at, _, _ := strings.Cut(uri, "?")
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(at, strings.TrimSuffix(root, "/")), "/"), ".")
}

// dataset verifies a dataset, makes it again at out, and compares.
func (p *prover) dataset(ctx context.Context, d *dataset.Dataset, out string) (Proof, error) {
	proof := Proof{Name: p.name(d.URI()), Rows: d.Rows}
	if err := dataset.Verify(ctx, d); err != nil {
		if ctx.Err() != nil {
			return proof, err
		}
		proof.Damage = err.Error()
	}
	made, err := p.made(ctx, d, out)
	switch {
	case ctx.Err() != nil:
		return proof, ctx.Err()
	case errors.Is(err, fault.ErrInvalid) && !errors.Is(err, storage.ErrNotExist) && !errors.Is(err, regular.ErrNot):
		proof.Damage = cmp.Or(proof.Damage, err.Error())
		return proof, nil
	case err != nil:
		proof.Unproved = err.Error()
		if proof.Damage != "" && d.Kind == schema.KindTrajectories {
			proof.Differs, _ = payloads(ctx, d) // what cannot be read is the damage
		}
		return proof, ctx.Err()
	}
	defer os.RemoveAll(out) // Run removes it, too
	if proof.Differs, err = compare(ctx, d, made, proof.Damage == ""); proof.Damage != "" {
		err = ctx.Err() // what cannot be read is the damage
	}
	if why := otherwise(d, made); proof.Differs != nil && why != "" {
		proof.Differs, proof.Unproved = nil, why
	}
	return proof, err
}

// made makes a dataset again. The error says why it cannot be.
func (p *prover) made(ctx context.Context, d *dataset.Dataset, out string) (*dataset.Dataset, error) {
	switch d.Stage {
	case "score", "group", "curate":
	case "rollout":
		return nil, errors.New("a model sampled it")
	default:
		return nil, fmt.Errorf("it was made by %s", d.Stage)
	}
	if err := p.again(ctx, d, out, p.Programs); err != nil {
		return nil, err
	}
	return dataset.Open(ctx, out, dataset.OpenOptions{IgnoreGates: true})
}

// otherwise says how what was made again was made of something else than the stored one.
func otherwise(d, made *dataset.Dataset) string {
	if made.Identity == d.Identity || strings.Contains(fmt.Sprint(d.Params["reward"]), "=echo:") { // of which only the folder may be another
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(d.Files)) {
		if d.Files[name] != made.Files[name] {
			return fmt.Sprintf("the file %q is not the one with which it was made", name)
		}
	}
	if d.Version != made.Version {
		return fmt.Sprintf("version %d of the stage made it, and this is version %d", d.Version, made.Version)
	}
	return "its manifest does not have all that decided its rows"
}

// WriteText writes a line for each proof, and the verdict.
func (r *Result) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range r.Proofs {
		fmt.Fprintf(table, "%s\t%d rows\t%s\n", p.Name, p.Rows, p.verdict())
	}
	fmt.Fprintf(table, "%s\n", r.Verdict())
	return table.Flush()
}

// Verdict names the first number that differs.
func (r *Result) Verdict() string {
	for _, p := range r.Proofs {
		switch {
		case p.Differs != nil:
			return fmt.Sprintf("differs: %s: %s", p.Name, p.Differs)
		case p.Damage != "":
			return fmt.Sprintf("damaged: %s: %s", p.Name, p.Damage)
		}
	}
	if !r.Equal {
		return "nothing was computed again"
	}
	return fmt.Sprintf("equal: %d of %d computed again", r.computed(), len(r.Proofs))
}

func (p *Proof) verdict() string {
	var out []string
	switch {
	case p.Differs != nil:
		out = append(out, p.Differs.String())
	case p.Damage == "" && p.Unproved == "":
		out = append(out, "equal")
	}
	if p.Damage != "" {
		out = append(out, p.Damage)
	}
	if p.Unproved != "" {
		out = append(out, "not computed again: "+p.Unproved)
	}
	if p.Trained != "" {
		out = append(out, p.Trained)
	}
	return strings.Join(out, "; ")
}

func (d *Difference) String() string {
	text := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(data)
	}
	out := fmt.Sprintf("%s is %s, computed again %s", d.Column, text(d.Stored), text(d.Computed))
	switch {
	case d.TrajectoryID != "":
		out = fmt.Sprintf("row %d, trajectory %s: %s", d.Row, d.TrajectoryID, out)
	case strings.HasPrefix(d.Column, "_") && !strings.HasPrefix(d.Column, receipts.File): // of a side table
		out = fmt.Sprintf("row %d: %s", d.Row, out)
	}
	return out
}
