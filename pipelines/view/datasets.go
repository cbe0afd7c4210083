package view

import (
	"cmp"
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Found is a dataset below the root, or the beginning of one.
type Found struct {
	Key      string // its path below the root; "-" for the root itself
	URI      string
	Run      string // the path of its run below the root; "" for the root
	Epoch    int    // -1 outside an epoch
	Stage    string // the path in the epoch: rollout, validation/score, ...
	Complete bool   // has a manifest
	Receipt  bool   // is a submission's receipt, not a dataset
	Parts    int
	Segments int // of journals: finished rows that are not in a part yet
	Begun    int // leases, and records of finished shards
	Bytes    int64
	Changed  time.Time // the last object
	Written  time.Time // the manifest
}

// Live reports whether a stage began the dataset, and it is not complete: it is being
// written, or was interrupted.
func (f *Found) Live() bool { return f.Segments+f.Begun > 0 && !f.Complete }

// at tells a dataset from another that was there before.
func (f *Found) at() string { return f.Key + "@" + f.Written.String() }

// Link returns the path of the dataset's page.
func (f *Found) Link() string {
	if f.Live() {
		return page.Link("d", f.Key, "live")
	}
	return page.Link("d", f.Key)
}

// listing is what is below a root.
type listing struct {
	found []*Found // in the order of epochs and stages
	byKey map[string]*Found
	files map[string]storage.Object // the report's, by path
	taken time.Time
	took  time.Duration

	runs []string // paths of the folders that hold epochs; "" for the root
	run  string   // whose datasets these are; "" for all
}

// of returns what is of a run.
func (l *listing) of(run string) *listing {
	if len(l.runs) < 2 && run == "" {
		return l
	}
	out := *l
	out.run = run
	out.found = slices.DeleteFunc(slices.Clone(l.found), func(f *Found) bool { return f.Run != run })
	return &out
}

// catalogue keeps the listing for a short time, so that a page costs no listing of
// its own.
type catalogue struct {
	root   string
	bucket *storage.Bucket

	mu   sync.Mutex
	last *listing // nil before the first one
	old  bool     // the next request takes another
}

// How long a listing is used: by pages about what changes, and by pages of one dataset
// that is complete.
const (
	fresh  = 2 * time.Second
	recent = time.Minute
)

// list returns a listing that is at most so old as fresh, or as ten times what it took.
func (c *catalogue) list(ctx context.Context) (*listing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && !c.old && time.Since(c.last.taken) < max(fresh, 10*c.last.took) {
		return c.last, nil
	}
	l, err := c.read(ctx)
	if err == nil {
		c.last, c.old = l, false
	}
	return l, err
}

// complete returns a dataset that a recent listing has, and that is complete. If its
// manifest was replaced since, there is none, and the listing is forgotten.
func (c *catalogue) complete(ctx context.Context, key string) *Found {
	c.mu.Lock()
	var f *Found
	if c.last != nil && !c.old && time.Since(c.last.taken) <= recent {
		f = c.last.byKey[key]
	}
	c.mu.Unlock()
	if f == nil || !f.Complete {
		return nil
	}
	if o, err := c.bucket.Stat(ctx, path.Join(strings.TrimPrefix(key, "-"), manifest.FileName)); err != nil ||
		!c.sameTime(o.ModTime, f.Written) {
		c.forget()
		return nil
	}
	return f
}

// sameTime reports whether an object has the time of a listing. Some stores tell
// fractions of a second in listings alone.
func (c *catalogue) sameTime(a, b time.Time) bool {
	if _, local := c.bucket.Local(); local {
		return a.Equal(b)
	}
	return a.Truncate(time.Second).Equal(b.Truncate(time.Second))
}

// forget makes the next request list the root again.
func (c *catalogue) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.old = true
}

// epochPath matches the path of an epoch's folder: what precedes it, its number and what
// follows.
var epochPath = regexp.MustCompile(`^(?:(.*)/)?epoch-([0-9]{1,9})(?:/(.*))?$`)

// read lists the root once.
func (c *catalogue) read(ctx context.Context) (*listing, error) {
	l := &listing{byKey: map[string]*Found{}, files: map[string]storage.Object{}, taken: time.Now()}
	for o, err := range c.bucket.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		l.add(c.root, o)
	}
	maps.DeleteFunc(l.byKey, func(_ string, f *Found) bool {
		return !f.Complete && !f.Receipt && f.Parts+f.Segments+f.Begun == 0
	})
	if len(l.byKey) == 0 {
		return nil, fault.Invalid(storage.Redact(c.root), "name the folder of a run, which holds epoch-0, or of a dataset",
			storage.ErrNotExist, "no dataset")
	}
	l.assign()
	l.took = time.Since(l.taken)
	l.found = slices.SortedFunc(maps.Values(l.byKey), func(a, b *Found) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(rank(a.Stage), rank(b.Stage)),
			cmp.Compare(a.Key, b.Key))
	})
	return l, nil
}

// assign names the runs, and the run of each dataset that is outside of epochs: the one in
// whose folder it is.
func (l *listing) assign() {
	for _, f := range l.byKey {
		if f.Epoch >= 0 && !slices.Contains(l.runs, f.Run) {
			l.runs = append(l.runs, f.Run)
		}
	}
	slices.Sort(l.runs)
	for _, f := range l.byKey {
		for at := path.Dir(f.Key); f.Epoch < 0 && at != "." && f.Run == ""; at = path.Dir(at) {
			if slices.Contains(l.runs, at) {
				f.Run = at
			}
		}
	}
}

// stageOrder is the order of an epoch's datasets.
var stageOrder = []string{"validation/rollout", "validation/score", "rollout", "score", "group", "curate", "submit"}

func rank(stage string) int {
	if i := slices.Index(stageOrder, stage); i >= 0 {
		return i
	}
	return len(stageOrder)
}

// privatePath splits the path of an object of a dataset that is being written.
var privatePath = regexp.MustCompile(`^(?:(.*)/)?\.rollmill/[0-9a-f]{16}-[0-9]+(?:-[0-9a-f]{16})?/(journal|lease|shard)-`)

// add adds an object to the dataset whose folder it is in.
func (l *listing) add(root string, o storage.Object) {
	dir, name := path.Split(o.Key)
	dir = strings.TrimSuffix(dir, "/")
	private := privatePath.FindStringSubmatch(o.Key)
	switch _, last := path.Split(dir); {
	case private != nil:
		dir = private[1]
	case strings.Contains("/"+dir+"/", "/.rollmill/"):
		return // the run's id, the ledger
	case strings.HasPrefix(last, "_"): // a further table
		dir = strings.TrimSuffix(strings.TrimSuffix(dir, last), "/")
	}
	f := l.byKey[cmp.Or(dir, "-")]
	if f == nil {
		f = place(root, dir)
		l.byKey[f.Key] = f
	}
	f.Bytes += o.Size
	if o.ModTime.After(f.Changed) {
		f.Changed = o.ModTime
	}
	switch {
	case private != nil && private[2] == "journal":
		f.Segments++
	case private != nil:
		f.Begun++
	case name == manifest.FileName:
		f.Complete, f.Written = true, o.ModTime
	case name == receipts.File:
		f.Receipt, f.Written = true, o.ModTime
	case strings.HasPrefix(name, "part-") && path.Ext(name) == ".parquet": // not an export's
		f.Parts++
	case slices.Contains(historyFiles, name):
		l.files[o.Key] = o
	}
}

// place returns the dataset at a path below the root.
func place(root, dir string) *Found {
	f := &Found{Key: cmp.Or(dir, "-"), URI: root, Epoch: -1, Stage: dir}
	if dir != "" {
		f.URI = storage.Join(root, dir)
	}
	m := epochPath.FindStringSubmatch(dir)
	if m != nil {
		f.Run = m[1]
	} else { // the root may be an epoch's folder
		full, _, _ := strings.Cut(f.URI, "?")
		m = epochPath.FindStringSubmatch(full)
	}
	if m != nil {
		f.Epoch, _ = strconv.Atoi(m[2]) // digits only
		f.Stage = m[3]
	}
	f.Stage = cmp.Or(f.Stage, "dataset")
	return f
}

// epochs returns the datasets of each epoch, and those outside of epochs under -1.
func (l *listing) epochs() map[int][]*Found {
	out := map[int][]*Found{}
	for _, f := range l.found {
		out[f.Epoch] = append(out[f.Epoch], f)
	}
	return out
}

// rollout returns the rollout of an epoch, or nil. Of an epoch that was extended it is
// that of the last extension, scored or not.
func (l *listing) rollout(epoch int) *Found {
	var last *Found
	for _, f := range l.found {
		rest := f.Stage
		for strings.HasPrefix(rest, "extended/") {
			rest = strings.TrimPrefix(rest, "extended/")
		}
		if f.Epoch == epoch && rest == "rollout" && (last == nil || len(f.Stage) > len(last.Stage)) {
			last = f
		}
	}
	return last
}

// historyFiles are the report's files that the run page reads.
var historyFiles = []string{"training_metrics.jsonl", "reward_history.json", "validation_history.json"}

// lastWritten returns when what is in the folder of a dataset was written, as the last
// listing has it.
func (c *catalogue) lastWritten(d *dataset.Dataset) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	folder, _ := storage.Split(d.URI())
	var out []string
	for _, f := range c.last.found {
		if at, _ := storage.Split(storage.Redact(f.URI)); at == folder {
			out = append(out, f.Key+" "+f.Written.String())
		}
	}
	return strings.Join(out, "\n")
}

// input returns the dataset that one with a key refers to by a path, nil if the last
// listing does not have it.
func (c *catalogue) input(key string, ref manifest.Ref) *Found {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || !strings.HasPrefix(ref.URI, "../") {
		return nil
	}
	return c.last.byKey[path.Join(key, ref.URI)]
}

// finished returns the complete datasets of an epoch and its receipt by stage, as the
// report counts them: those of the last extension that is scored.
func finished(found []*Found) map[string]*Found {
	all := map[string]*Found{}
	for _, f := range found {
		if f.Complete || f.Receipt {
			all[f.Stage] = f
		}
	}
	last := ""
	for all[last+"extended/score"] != nil {
		last += "extended/"
	}
	out := map[string]*Found{}
	for _, stage := range stageOrder {
		from := last
		if strings.HasPrefix(stage, "validation/") {
			from = ""
		}
		if f := all[from+stage]; f != nil {
			out[stage] = f
		}
	}
	return out
}
