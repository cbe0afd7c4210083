package live

import (
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// maxMembers is how many members of a group under way are shown.
const maxMembers = 64

// Members returns the newest attempts of a group, or of the group of a trajectory, which is
// among them, in the order of their generations.
func (j *Journal) Members(group, id string) ([]*Attempt, *seal.Underway, error) {
	j.Mu.Lock()
	defer j.Mu.Unlock()
	var out []*Attempt
	if id != "" {
		at, has := j.at[id]
		if !has {
			return nil, nil, absent("no trajectory %q in the journal", id)
		}
		out = append(out, j.Attempts[at])
		group = out[0].Group()
	}
	for _, a := range slices.Backward(j.Attempts) {
		if a.Group() == group && a.TrajectoryID != id && len(out) < maxMembers {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return nil, nil, absent("no trajectory of group %q in the journal", group)
	}
	slices.SortFunc(out, func(a, b *Attempt) int { return int(a.Generation) - int(b.Generation) })
	return out, j.under, nil
}

func (a *Attempt) Group() string { return formats.GroupID(a.ExampleID, int(a.Epoch)) }

// Load reads the whole rows of attempts, one segment after the other.
func Load(ctx context.Context, under *seal.Underway, attempts []*Attempt) ([]formats.Trajectory, error) {
	out := make([]formats.Trajectory, len(attempts))
	read := map[string]bool{}
	for _, first := range attempts {
		if read[first.segment.Name] {
			continue
		}
		read[first.segment.Name] = true
		rows, err := seal.ReadSegment[formats.Trajectory](ctx, under, first.segment)
		if err != nil {
			return nil, err
		}
		for i, a := range attempts {
			if a.segment.Name == first.segment.Name {
				out[i] = rows[a.row]
			}
		}
	}
	return out, nil
}

// absent is the error about what a journal does not have.
func absent(format string, args ...any) error {
	return fault.Invalid("", "", storage.ErrNotExist, format, args...)
}
