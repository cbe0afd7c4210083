package storage

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/rollmill/rollmill/storage/fault"
)

// openers is the list of schemes, to which Connect adds those of object stores. A local
// path has no scheme and is opened as file.
var openers = map[string]func(ctx context.Context, uri string) (*Bucket, error){
	"file": openFile,
	"mem":  openMem,
}

// onlyBuiltIn is how many schemes there are in a program that connects no object store.
var onlyBuiltIn = len(openers)

// Open returns the bucket at a URI prefix or a local path. The folder or prefix need not exist yet.
func Open(ctx context.Context, uri string) (*Bucket, error) {
	scheme, _, found := strings.Cut(uri, "://")
	if !found {
		scheme = "file"
	}
	if uri == "" {
		return nil, fault.Errorf(fault.Usage, "", "open storage: empty URI")
	}
	if near, _, colon := strings.Cut(uri, ":"); !found && colon && openers[near] != nil {
		return nil, fault.Errorf(fault.Usage, "write "+near+"://..., or ./"+Redact(uri)+" for a folder of that name",
			"open storage %q: it begins like a URI, and has no //", Redact(uri))
	}
	open, ok := openers[scheme]
	if !ok {
		help := ""
		if len(openers) == onlyBuiltIn {
			help = "a Go program that opens object stores imports storage/stores"
		}
		return nil, fault.Errorf(fault.Usage, help, "open storage %q: unknown scheme %q (known: %s)", Redact(uri), scheme,
			strings.Join(slices.Sorted(maps.Keys(openers)), ", "))
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
	return &Bucket{uri: rooted(uri), disk: abs}, nil
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

var mem = struct {
	sync.Mutex
	buckets map[string]*blob.Bucket
}{buckets: map[string]*blob.Bucket{}}

// openMem opens mem://name/prefix. All buckets of one name in this process share their content.
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
	return &Bucket{uri: rooted(uri), prefix: prefix, drv: drv}, nil
}

// Wrapping returns a context in which Open returns what wrap makes from each
// bucket: to count the bytes of a command for its progress, and for tests that
// count or fail the storage operations of a whole command. With two of them, the wrap of the
// outer context is applied first.
func Wrapping(ctx context.Context, wrap func(*Bucket) *Bucket) context.Context {
	if inner := wrapper(ctx); inner != nil {
		outer := wrap
		wrap = func(b *Bucket) *Bucket { return outer(inner(b)) }
	}
	return context.WithValue(ctx, wrapping{}, wrap)
}

type wrapping struct{}

func wrapper(ctx context.Context) func(*Bucket) *Bucket {
	wrap, _ := ctx.Value(wrapping{}).(func(*Bucket) *Bucket)
	return wrap
}
