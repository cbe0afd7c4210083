// Package stores holds the clients of the object stores: s3, gs and azblob. A program
// that imports it, for its effect, can open their URIs; one that does not links none of
// these clients, which are 20 MB.
//
// To add a store: one file with its dialer, a line in init, and a run of storagetest.Run.
package stores

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	gcs "cloud.google.com/go/storage"
	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"golang.org/x/oauth2/google"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

func init() {
	storage.Connect("s3", dialS3)
	storage.Connect("gs", dialGCS)
	storage.Connect("azblob", dialAzure)
}

// unknown returns an error for the first parameter that is not among the known ones.
func unknown(query url.Values, known ...string) error {
	for name := range query {
		if !slices.Contains(known, name) {
			return fault.Errorf(fault.Usage, "", "unknown parameter %q (known: %s)", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// dialGCS opens a bucket of Google Cloud Storage, with the application's
// default credentials, or without credentials when the parameter anonymous or
// STORAGE_EMULATOR_HOST is set.
func dialGCS(ctx context.Context, at storage.Location) (*storage.Client, error) {
	if err := unknown(at.Query, "anonymous", "universe_domain"); err != nil {
		return nil, err
	}
	http, err := gcsHTTP(ctx, at)
	if err != nil {
		return nil, err
	}
	drv, err := (&gcsblob.URLOpener{Client: http}).OpenBucketURL(ctx, at.URL())
	if err != nil {
		return nil, err
	}
	var api *gcs.Client
	if drv.As(&api) {
		api.SetRetry(gcs.WithMaxAttempts(3)) // the default is to retry until the context ends
	}
	return &storage.Client{Bucket: drv, Exclusive: true, IfVersion: ifGeneration}, nil
}

// gcsHTTP looks for credentials itself: gocloud's own opener prints to standard
// output when there are none, and continues.
func gcsHTTP(ctx context.Context, at storage.Location) (*gcp.HTTPClient, error) {
	if os.Getenv("STORAGE_EMULATOR_HOST") != "" || at.Query.Get("anonymous") == "true" {
		return gcp.NewAnonymousHTTPClient(gcp.DefaultTransport()), nil
	}
	creds, err := gcp.DefaultCredentialsWithParams(ctx,
		google.CredentialsParams{UniverseDomain: at.Query.Get("universe_domain")})
	if err != nil {
		return nil, fmt.Errorf("%w: no Google credentials: set GOOGLE_APPLICATION_CREDENTIALS, or ?anonymous=true for a "+
			"public bucket: %w", storage.ErrDenied, err)
	}
	http, err := gcp.NewHTTPClient(gcp.DefaultTransport(), creds.TokenSource)
	if err != nil {
		return nil, errors.Join(storage.ErrDenied, err)
	}
	return http, nil
}

// ifGeneration makes a write conditional on the object's generation.
func ifGeneration(a *blob.Attributes) *blob.WriterOptions {
	return &blob.WriterOptions{BeforeWrite: func(as func(any) bool) error {
		var of gcs.ObjectAttrs
		var object **gcs.ObjectHandle
		if !a.As(&of) || !as(&object) {
			return errors.New("the client library has no conditional writes")
		}
		*object = (*object).If(gcs.Conditions{GenerationMatch: of.Generation})
		return nil
	}}
}
