// Package storagetest runs the conformance suite of buckets as tests, and writes the programs that tests start.
package storagetest

import (
	"testing"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/conformance"
)

// Run runs every case on an empty bucket made by open.
func Run(t *testing.T, open func(t *testing.T) *storage.Bucket) {
	for _, c := range conformance.All {
		t.Run(c.Name, func(t *testing.T) { c.Test(t, open(t)) })
	}
}
