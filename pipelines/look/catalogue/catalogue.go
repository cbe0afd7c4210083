// Package catalogue lists the datasets, receipts and reports below a URI in one listing, and says
// of which run, epoch and stage each is. It opens none of them.
package catalogue

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
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Entry is a dataset below the root, or the beginning of one.
type Entry struct {
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
	Records  int // of these, the records
	Bytes    int64
	Changed  time.Time // the last object
	Written  time.Time // the manifest
}

// Live reports whether a stage began the dataset, and it is not complete: it is being
// written, or was interrupted.
func (f *Entry) Live() bool { return f.Segments+f.Begun > 0 && !f.Complete }

// At tells a dataset from another that was there before.
func (f *Entry) At() string { return f.Key + "@" + f.Written.String() }

// Listing is what is below a root.
type Listing struct {
	Entries []*Entry // in the order of epochs and stages
	ByKey   map[string]*Entry
	Reports map[string]storage.Object // files that report keeps its figures in, by the run's path
	taken   time.Time
	took    time.Duration

	Runs []string // paths of the folders that hold epochs; "" for the root
	Run  string   // whose datasets these are; "" for all
}

// Of returns what is of a run.
func (l *Listing) Of(run string) *Listing {
	if len(l.Runs) < 2 && run == "" {
		return l
	}
	out := *l
	out.Run = run
	out.Entries = slices.DeleteFunc(slices.Clone(l.Entries), func(f *Entry) bool { return f.Run != run })
	return &out
}

// Catalogue keeps the listing for a short time, so that a page costs no listing of
// its own.
type Catalogue struct {
	Root   string
	Bucket *storage.Bucket

	mu   sync.Mutex
	last *Listing // nil before the first one
	old  bool     // the next request takes another
}

// How long a listing is used: by pages about what changes, and by pages of one dataset
// that is complete.
const (
	fresh  = 2 * time.Second
	recent = time.Minute
)

// List returns a listing that is at most so old as fresh, or as ten times what it took.
func (c *Catalogue) List(ctx context.Context) (*Listing, error) {
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

// Complete returns a dataset that a recent listing has, and that is complete. If its
// manifest was replaced since, there is none, and the listing is forgotten.
func (c *Catalogue) Complete(ctx context.Context, key string) *Entry {
	c.mu.Lock()
	var f *Entry
	if c.last != nil && !c.old && time.Since(c.last.taken) <= recent {
		f = c.last.ByKey[key]
	}
	c.mu.Unlock()
	if f == nil || !f.Complete {
		return nil
	}
	exact := time.Second // some stores tell fractions of a second in listings alone
	if _, local := c.Bucket.Local(); local {
		exact = time.Nanosecond
	}
	o, err := c.Bucket.Stat(ctx, path.Join(strings.TrimPrefix(key, "-"), manifest.FileName))
	if err != nil || !o.ModTime.Truncate(exact).Equal(f.Written.Truncate(exact)) {
		c.Forget()
		return nil
	}
	return f
}

// Forget makes the next request list the root again.
func (c *Catalogue) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.old = true
}

// epochPath matches the path of an epoch's folder: what precedes it, its number and what
// follows.
var epochPath = regexp.MustCompile(`^(?:(.*)/)?epoch-([0-9]{1,9})(?:/(.*))?$`)

// read lists the root once.
func (c *Catalogue) read(ctx context.Context) (*Listing, error) {
	l := &Listing{ByKey: map[string]*Entry{}, Reports: map[string]storage.Object{}, taken: time.Now()}
	for o, err := range c.Bucket.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		l.Add(c.Root, o)
	}
	maps.DeleteFunc(l.ByKey, func(_ string, f *Entry) bool {
		return !f.Complete && !f.Receipt && f.Parts+f.Segments+f.Begun == 0
	})
	if len(l.ByKey) == 0 {
		return nil, fault.Invalid(storage.Redact(c.Root),
			"name the folder of a run, which holds epoch-0, or of a dataset",
			storage.ErrNotExist, "there is no dataset")
	}
	l.assign()
	l.took = time.Since(l.taken)
	l.Entries = slices.SortedFunc(maps.Values(l.ByKey), func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(rank(a.Stage), rank(b.Stage)),
			cmp.Compare(a.Key, b.Key))
	})
	return l, nil
}

// assign names the runs, and the run of each dataset that is outside of epochs: the one in
// whose folder it is.
func (l *Listing) assign() {
	for _, f := range l.ByKey {
		if f.Epoch >= 0 && !slices.Contains(l.Runs, f.Run) {
			l.Runs = append(l.Runs, f.Run)
		}
	}
	slices.Sort(l.Runs)
	for _, f := range l.ByKey {
		for at := path.Dir(f.Key); f.Epoch < 0 && at != "." && f.Run == ""; at = path.Dir(at) {
			if slices.Contains(l.Runs, at) {
				f.Run = at
			}
		}
	}
}

// StageOrder is the order of an epoch's datasets.
var StageOrder = []string{"validation/rollout", "validation/score", "rollout", "score", "group", "curate", "submit"}

func rank(stage string) int {
	if i := slices.Index(StageOrder, stage); i >= 0 {
		return i
	}
	return len(StageOrder)
}

// privatePath splits the path of an object of a dataset that is being written.
var privatePath = regexp.MustCompile(`^(?:(.*)/)?\.rollmill/[0-9a-f]{16}-[0-9]+(?:-[0-9a-f]{16})?/(journal|lease|shard)-`)

// Add adds an object to the dataset whose folder it is in.
func (l *Listing) Add(root string, o storage.Object) {
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
	f := l.ByKey[cmp.Or(dir, "-")]
	if f == nil {
		f = place(root, dir)
		l.ByKey[f.Key] = f
	}
	f.Bytes += o.Size
	if o.ModTime.After(f.Changed) {
		f.Changed = o.ModTime
	}
	switch {
	case private != nil && private[2] == "journal":
		f.Segments++
	case private != nil:
		if f.Begun++; private[2] == "shard" {
			f.Records++
		}
	case name == manifest.FileName:
		f.Complete, f.Written = true, o.ModTime
	case name == receipts.File:
		f.Receipt, f.Written = true, o.ModTime
	case strings.HasPrefix(name, "part-") && path.Ext(name) == ".parquet": // not an export's
		f.Parts++
	case name == history.File:
		l.Reports[path.Dir("/" + o.Key)[1:]] = o
	}
}

// place returns the dataset at a path below the root.
func place(root, dir string) *Entry {
	f := &Entry{Key: cmp.Or(dir, "-"), URI: root, Epoch: -1, Stage: dir}
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

// Epochs returns the datasets of each epoch, and those outside of epochs under -1.
func (l *Listing) Epochs() map[int][]*Entry {
	out := map[int][]*Entry{}
	for _, f := range l.Entries {
		out[f.Epoch] = append(out[f.Epoch], f)
	}
	return out
}

// Rollout returns the rollout of an epoch, or nil. Of an epoch that was extended it is
// that of the last extension, scored or not.
func (l *Listing) Rollout(epoch int) *Entry {
	var last *Entry
	for _, f := range l.Entries {
		if f.Epoch == epoch && strings.ReplaceAll(f.Stage, "extended/", "") == "rollout" && (last == nil || len(f.Stage) > len(last.Stage)) {
			last = f
		}
	}
	return last
}

// LastWritten returns when what is in the folder of a dataset was written, as the last
// listing has it.
func (c *Catalogue) LastWritten(d *dataset.Dataset) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	folder, _ := storage.Split(d.URI())
	var out []string
	for _, f := range c.last.Entries {
		if at, _ := storage.Split(storage.Redact(f.URI)); at == folder {
			out = append(out, f.Key+" "+f.Written.String())
		}
	}
	return strings.Join(out, "\n")
}

// Input returns the dataset that one with a key refers to by a path, nil if the last
// listing does not have it.
func (c *Catalogue) Input(key string, ref manifest.Ref) *Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || !strings.HasPrefix(ref.URI, "../") {
		return nil
	}
	return c.last.ByKey[path.Join(key, ref.URI)]
}

// Finished returns the complete datasets of an epoch and its receipt by stage, as the
// report counts them: those of the last extension that is scored, or the epoch's own receipt.
func Finished(found []*Entry) map[string]*Entry {
	all := map[string]*Entry{}
	for _, f := range found {
		if f.Complete || f.Receipt {
			all[f.Stage] = f
		}
	}
	last := ""
	for all[last+"extended/score"] != nil {
		last += "extended/"
	}
	out := map[string]*Entry{}
	for _, stage := range StageOrder {
		from := last
		if strings.HasPrefix(stage, "validation/") || stage == "submit" && all[last+stage] == nil {
			from = ""
		}
		if f := all[from+stage]; f != nil {
			out[stage] = f
		}
	}
	return out
}
