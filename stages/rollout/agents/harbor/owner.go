package harbor

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/storage/scratch"
)

// ownerLabel is the label of a container: the machine and the folder of the process that
// started it, as a query's text.
const ownerLabel = "rollmill.owner"

func ownerOf(host, dir string) string { return url.QueryEscape(host + ":" + dir) }

// sweep removes the containers that dead processes of this machine left. A process lives as long as its
// folder among the temporary files is locked, which holds those of its attempts.
func sweep(ctx context.Context, r Runtime, host string) error {
	owners, err := r.Labelled(ctx, ownerLabel)
	if err != nil {
		return err
	}
	var dead []string
	for name, owner := range owners {
		owner, err := url.QueryUnescape(owner)
		if dir, here := strings.CutPrefix(owner, host+":"); err == nil && here && !scratch.Alive(dir) {
			dead = append(dead, name)
		}
	}
	if err := r.Remove(ctx, dead...); err != nil { // another process may sweep at the same time
		left, again := r.Labelled(ctx, ownerLabel)
		if slices.ContainsFunc(dead, func(name string) bool { return left[name] != "" }) || again != nil {
			return errors.Join(err, again)
		}
	}
	return nil
}
