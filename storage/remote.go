package storage

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"

	"gocloud.dev/blob"

	"github.com/rollmill/rollmill/storage/fault"
)

// A location is a bucket of an object store and a prefix within it.
type location struct {
	scheme, name, prefix string
	query                url.Values // parameters of the client
}

// url returns the location without its prefix, with which a client is opened.
func (l location) url() *url.URL {
	return &url.URL{Scheme: l.scheme, Host: l.name, RawQuery: l.query.Encode()}
}

// locate parses the URI of an object store. Its keys are not percent-encoded.
func locate(uri string) (location, error) {
	scheme, rest, _ := strings.Cut(uri, "://")
	rest, query, _ := strings.Cut(rest, "?")
	name, prefix, _ := strings.Cut(rest, "/")
	l := location{scheme: scheme, name: name}
	switch {
	case name == "":
		return l, fault.Errorf(fault.Usage, "", "the bucket's name is missing: %s://BUCKET/PREFIX", scheme)
	case strings.Contains(name, "@"):
		return l, fault.Errorf(fault.Usage, "", "no credentials in a URI: set the environment variables of the store's own tools")
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		if err := checkKey(prefix); err != nil {
			return l, fault.Errorf(fault.Usage, "", "%w", err)
		}
		l.prefix = prefix + "/"
	}
	var err error
	if l.query, err = url.ParseQuery(query); err != nil {
		return l, fault.Errorf(fault.Usage, "", "the parameters after ? cannot be read: %w", err)
	}
	return l, nil
}

// A client is a connection to one bucket of an object store, shared by every
// Bucket of this process in it.
type client struct {
	drv       *blob.Bucket
	exclusive bool // known to create exclusively and to compare versions
	probe     probe
	versions  probe // whether it compares versions

	// ifVersion makes a write conditional on the object's version.
	ifVersion func(*blob.Attributes) *blob.WriterOptions
}

// A dialer opens a client. It removes its parameters from those of the location
// and refuses the rest.
type dialer func(ctx context.Context, at location) (*client, error)

var clients = struct {
	sync.Mutex
	open map[string]*client
}{open: map[string]*client{}}

// remote returns the opener for the buckets that dial connects to.
func remote(dial dialer) func(context.Context, string) (*Bucket, error) {
	return func(ctx context.Context, uri string) (*Bucket, error) {
		at, err := locate(uri)
		if err != nil {
			return nil, err
		}
		c, err := shared(ctx, at, dial)
		if err != nil {
			return nil, err
		}
		return &Bucket{uri: rooted(uri), prefix: at.prefix, far: c, drv: c.drv}, nil
	}
}

// shared returns the process's client of a bucket. What dialling determined
// (keys, regions) is valid as long as the process lives, so it is not cancelled
// with ctx.
func shared(ctx context.Context, at location, dial dialer) (*client, error) {
	key := at.url().String()
	clients.Lock()
	defer clients.Unlock()
	if c := clients.open[key]; c != nil {
		return c, nil
	}
	c, err := dial(context.WithoutCancel(ctx), at)
	if err != nil {
		return nil, err
	}
	clients.open[key] = c
	return c, nil
}

// unknown returns the first parameter that is not among the known ones.
func unknown(query url.Values, known ...string) error {
	for name := range query {
		if !slices.Contains(known, name) {
			return fault.Errorf(fault.Usage, "", "unknown parameter %q (known: %s)", name, strings.Join(known, ", "))
		}
	}
	return nil
}
