package main

import (
	"testing"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/s3test"
)

// TestImportOfABucketWithParameters: formats tell files by the ends of their names, which the
// parameters of a bucket's URI are no part of.
func TestImportOfABucketWithParameters(t *testing.T) {
	uri := s3test.Start(t).URI("in")
	b, err := storage.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	f := importFile(b, storage.Object{Key: "a/run.jsonl"})
	if want := "s3://test/in/a/run.jsonl"; f.URI != want {
		t.Errorf("%q, want %q", f.URI, want)
	}
}
