// Package storagetest runs the promises of every bucket as tests.
package storagetest

import (
	"testing"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/promises"
)

// Run holds buckets that open makes, each empty, against every promise.
func Run(t *testing.T, open func(t *testing.T) *storage.Bucket) {
	for _, p := range promises.All {
		t.Run(p.Name, func(t *testing.T) { p.Hold(t, open(t)) })
	}
}
