package settings

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

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
