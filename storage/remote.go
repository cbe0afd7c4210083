package storage

import (
	"context"
	"net/url"
	"strings"
	"sync"

	"gocloud.dev/blob"

	"github.com/rollmill/rollmill/storage/fault"
)

// A Location is a bucket of an object store and a prefix within it.
type Location struct {
	Scheme, Bucket string
	Query          url.Values // parameters of the client
	prefix         string
}

// URL returns the location without its prefix, with which a client is opened.
func (l Location) URL() *url.URL {
	return &url.URL{Scheme: l.Scheme, Host: l.Bucket, RawQuery: l.Query.Encode()}
}

// locate parses the URI of an object store. Its keys are not percent-encoded.
func locate(uri string) (Location, error) {
	scheme, rest, _ := strings.Cut(uri, "://")
	rest, query, _ := strings.Cut(rest, "?")
	name, prefix, _ := strings.Cut(rest, "/")
	l := Location{Scheme: scheme, Bucket: name}
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
	if l.Query, err = url.ParseQuery(query); err != nil {
		return l, fault.Errorf(fault.Usage, "", "the parameters after ? cannot be read: %w", err)
	}
	return l, nil
}

// A Client is a connection to one bucket of an object store, shared by every
// Bucket of this process in it.
type Client struct {
	Bucket    *blob.Bucket
	Exclusive bool // known to create exclusively and to compare versions

	// IfVersion makes a write conditional on the object's version.
	IfVersion func(*blob.Attributes) *blob.WriterOptions

	creates, compares probe // whether it creates exclusively, and whether it compares versions
}

// A Dialer opens a client, and refuses parameters of the location that it does not know.
type Dialer func(ctx context.Context, at Location) (*Client, error)

// Connect makes Open open the URIs of a scheme by a dialer. It is called before the first Open.
func Connect(scheme string, dial Dialer) { openers[scheme] = remote(dial) }

var clients = struct {
	sync.Mutex
	open map[string]*Client
}{open: map[string]*Client{}}

// remote returns the opener for the buckets that dial connects to.
func remote(dial Dialer) func(context.Context, string) (*Bucket, error) {
	return func(ctx context.Context, uri string) (*Bucket, error) {
		at, err := locate(uri)
		if err != nil {
			return nil, err
		}
		c, err := shared(ctx, at, dial)
		if err != nil {
			return nil, err
		}
		return &Bucket{uri: rooted(uri), prefix: at.prefix, far: c, drv: c.Bucket}, nil
	}
}

// shared returns the process's client of a bucket. What dialling determined
// (keys, regions) is valid as long as the process lives, so it is not cancelled
// with ctx.
func shared(ctx context.Context, at Location, dial Dialer) (*Client, error) {
	key := at.URL().String()
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
