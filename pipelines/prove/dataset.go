package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/regular"
)

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
