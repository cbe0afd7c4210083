package storage

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
)

// openers is the list of schemes. A local path has none and opens as file.
var openers = map[string]func(ctx context.Context, uri string) (*Bucket, error){
	"file": openFile,
	"mem":  openMem,
}

// Schemes lists the URI schemes that Open knows, sorted.
func Schemes() []string {
	var out []string
	for s := range openers {
		out = append(out, s)
	}
	sort.Strings(out)
	return out
}

// Open returns the bucket at a URI prefix or a local path. The folder or
// prefix need not exist yet.
func Open(ctx context.Context, uri string) (*Bucket, error) {
	scheme, _, found := strings.Cut(uri, "://")
	if !found {
		scheme = "file"
	}
	if uri == "" {
		return nil, fmt.Errorf("open storage: empty URI")
	}
	open, ok := openers[scheme]
	if !ok {
		return nil, fmt.Errorf("open storage %q: unknown scheme %q (known: %s)", Redact(uri), scheme, strings.Join(Schemes(), ", "))
	}
	b, err := open(ctx, uri)
	if err != nil {
		return nil, fmt.Errorf("open storage %q: %w", Redact(uri), err)
	}
	return b, nil
}

func openFile(_ context.Context, uri string) (*Bucket, error) {
	dir := uri
	if strings.HasPrefix(uri, "file://") {
		u, err := url.Parse(uri)
		if err != nil {
			return nil, err
		}
		dir = u.Path
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &Bucket{uri: strings.TrimSuffix(uri, "/"), disk: abs, driver: func() (*blob.Bucket, error) {
		if _, err := os.Stat(abs); errors.Is(err, os.ErrNotExist) {
			return nil, ErrNotExist // a folder is made by the first write, never by a read
		}
		return fileblob.OpenBucket(abs, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	}}, nil
}

var mem struct {
	sync.Mutex
	buckets map[string]*blob.Bucket
}

// openMem opens mem://name/prefix. Every bucket of one name in this process
// shares its content.
func openMem(_ context.Context, uri string) (*Bucket, error) {
	name, prefix, _ := strings.Cut(strings.TrimPrefix(uri, "mem://"), "/")
	mem.Lock()
	defer mem.Unlock()
	if mem.buckets == nil {
		mem.buckets = map[string]*blob.Bucket{}
	}
	drv, ok := mem.buckets[name]
	if !ok {
		drv = memblob.OpenBucket(nil)
		mem.buckets[name] = drv
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return &Bucket{uri: strings.TrimSuffix(uri, "/"), prefix: prefix, driver: func() (*blob.Bucket, error) { return drv, nil }}, nil
}
