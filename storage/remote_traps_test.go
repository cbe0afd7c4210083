package storage_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/gcerrors"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/s3test"
)

// The defects of gocloud's clients of object stores. When one of these tests
// fails, the library has changed: check whether the work-around can be removed.

// takenContainer is an Azure container in which every blob exists already.
func takenContainer(t *testing.T) *blob.Bucket {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("x-ms-error-code", "BlobAlreadyExists")
		w.WriteHeader(http.StatusConflict)
	}))
	t.Cleanup(server.Close)
	client, err := container.NewClientWithNoCredential(server.URL+"/account/container", nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := azureblob.OpenBucket(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A writer whose upload was refused panics when it is closed; Upload, which
// Draft uses, returns the error.
func TestTrapAzureblobPanicsOnARefusedWrite(t *testing.T) {
	b := takenContainer(t)
	err := b.Upload(t.Context(), "k", strings.NewReader("x"), &blob.WriterOptions{ContentType: "text/plain", IfNotExist: true})
	if gcerrors.Code(err) != gcerrors.FailedPrecondition {
		t.Errorf("Upload: %v", err)
	}
	for range 100 { // the upload's goroutine must be faster
		if writePanics(t, b) {
			return
		}
	}
	t.Error("no refused writer panicked in 100; is it mended?")
}

func writePanics(t *testing.T, b *blob.Bucket) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	w, err := b.NewWriter(t.Context(), "k", &blob.WriterOptions{ContentType: "text/plain", IfNotExist: true})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte("x"))
	_ = w.Close()
	return false
}

// A cancelled multipart upload sends its abort with the cancelled context, so
// the parts stay and are billed. Ours are removed.
func TestTrapS3blobLeavesPartsBehind(t *testing.T) {
	s := s3test.Start(t)
	b, err := blob.OpenBucket(t.Context(), strings.Replace(s.URI(""), "/?", "?", 1))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.OnRequest(func(r *http.Request) {
		if s3test.IsPart(r) {
			cancel()
		}
	})
	err = b.Upload(ctx, "big", strings.NewReader(strings.Repeat("x", 40<<20)), &blob.WriterOptions{ContentType: "text/plain"})
	if err == nil {
		t.Fatal("the upload was not cancelled")
	}
	if s.Uploads() == 0 {
		t.Error("the library ends a cancelled upload now")
	}
}

// gcsblob reports a refusal as a missing object, and s3blob does the same for a
// missing bucket; our errors distinguish them.
func TestTrapAMissingBucketLooksLikeAMissingObject(t *testing.T) {
	s := s3test.Start(t)
	b, err := blob.OpenBucket(t.Context(), strings.Replace(s.URI(""), "/?", "?", 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DropBucket(); err != nil {
		t.Fatal(err)
	}
	_, err = b.ReadAll(t.Context(), "k")
	if gcerrors.Code(err) != gcerrors.NotFound {
		t.Errorf("the library says %v now", gcerrors.Code(err))
	}
	if _, err := open(t, s.URI("")).Read(t.Context(), "k"); !errors.Is(err, storage.ErrNoBucket) {
		t.Errorf("we say %v", err)
	}
}
