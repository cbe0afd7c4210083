package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
)

// openers is the list of schemes. A local path has no scheme and is opened as
// file.
var openers = map[string]func(ctx context.Context, uri string) (*Bucket, error){
	"file":   openFile,
	"mem":    openMem,
	"s3":     remote(dialS3),
	"gs":     remote(dialGCS),
	"azblob": remote(dialAzure),
}

// Open returns the bucket at a URI prefix or a local path. The folder or
// prefix need not exist yet.
func Open(ctx context.Context, uri string) (*Bucket, error) {
	scheme, _, found := strings.Cut(uri, "://")
	if !found {
		scheme = "file"
	}
	if uri == "" {
		return nil, addressError("open storage: empty URI")
	}
	open, ok := openers[scheme]
	if !ok {
		return nil, addressError(fmt.Sprintf("open storage %q: unknown scheme %q (known: %s)", Redact(uri), scheme,
			strings.Join(slices.Sorted(maps.Keys(openers)), ", ")))
	}
	b, err := open(ctx, uri)
	if err != nil {
		return nil, failed(fmt.Sprintf("open storage %q", Redact(uri)), uri, err)
	}
	if wrap := wrapper(ctx); wrap != nil {
		b = wrap(b)
	}
	return b, nil
}

func openFile(_ context.Context, uri string) (*Bucket, error) {
	dir, _, err := Path(uri)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	f := &folder{dir: abs}
	return &Bucket{uri: rooted(uri), disk: abs, driver: f.open}, nil
}

// rooted returns a URI as a bucket shows it: no credentials, no trailing slash.
func rooted(uri string) string {
	base, query, found := strings.Cut(Redact(uri), "?")
	if len(base) > 1 && !strings.HasSuffix(base, "://") && !strings.HasSuffix(base, ":///") {
		base = strings.TrimSuffix(base, "/")
	}
	if found {
		base += "?" + query
	}
	return base
}

// folder opens a local folder when it is first needed and exists: the first
// write makes the folder, a read never does.
type folder struct {
	dir string
	mu  sync.Mutex
	drv *blob.Bucket
}

func (f *folder) open() (*blob.Bucket, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.drv != nil {
		return f.drv, nil
	}
	if _, err := os.Stat(f.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotExist
	}
	drv, err := fileblob.OpenBucket(f.dir, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err == nil {
		f.drv = drv
	}
	return drv, err
}

var mem = struct {
	sync.Mutex
	buckets map[string]*blob.Bucket
}{buckets: map[string]*blob.Bucket{}}

// openMem opens mem://name/prefix. All buckets of one name in this process
// share their content.
func openMem(_ context.Context, uri string) (*Bucket, error) {
	base, _, _ := strings.Cut(uri, "?")
	name, prefix, _ := strings.Cut(strings.TrimPrefix(base, "mem://"), "/")
	mem.Lock()
	defer mem.Unlock()
	drv, ok := mem.buckets[name]
	if !ok {
		drv = memblob.OpenBucket(nil)
		mem.buckets[name] = drv
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return &Bucket{uri: rooted(uri), prefix: prefix, driver: func() (*blob.Bucket, error) { return drv, nil }}, nil
}
