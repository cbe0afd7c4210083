package tidy

import (
	"context"
	"errors"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/dataset/storetime"
	"github.com/rollmill/rollmill/storage"
)

// alive is how long after its last write a command counts as running, whatever
// the grace: a rollout renews its lease every few seconds.
const alive = 5 * time.Minute

// root is a run's folder and what is in it.
type root struct {
	bucket    *storage.Bucket
	now       time.Time // by the store's clock
	denied    error     // of writing there
	folders   []*folder // of sealed and of pruned datasets, by URI
	newest    int       // epoch; -1 if there is none
	waiting   map[int]string
	receipts  map[string]bool // the folders with a receipt
	temporary []storage.Object
	problems  []string
	unrated   []string // epochs without a reward for KeepBest
}

// folder is the place of a dataset.
type folder struct {
	*seal.Folder
	key, uri string
	epoch    int    // -1 outside the epochs
	stage    string // the last part of the key
}

// clock sets now to the store's time at a moment: the latest that it may have been, so that what
// was written before is older. Who may only read sees a plan by the time of this machine.
func (r *root) clock(ctx context.Context, at time.Time, o PruneOptions) (err error) {
	r.now, err = storetime.Now(ctx, r.bucket)
	if errors.Is(err, storage.ErrDenied) {
		r.now, r.denied, err = time.Now(), err, nil
	}
	r.now = r.now.Add(storetime.Coarse(r.bucket) + o.later - time.Since(at))
	return err
}

func (r *root) busy(o PruneOptions, f *folder) bool {
	return f.Active.After(r.now.Add(-max(o.Grace, alive)))
}
