// Package stores holds the clients of the object stores: s3, gs and azblob. A program
// that imports it, for its effect, can open their URIs; one that does not links none of
// these clients, which are 20 MB.
//
// To add a store: one file with its dialer, a line in init, and a run of storagetest.Run.
package stores

import (
	"net/url"
	"slices"
	"strings"

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
