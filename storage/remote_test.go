package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/s3test"
	"github.com/rollmill/rollmill/storage/storagetest"
)

func TestS3Conformance(t *testing.T) {
	s := s3test.Start(t)
	count := 0
	storagetest.Run(t, func(t *testing.T) *storage.Bucket {
		count++
		return open(t, s.URI(fmt.Sprintf("suite/%d", count)))
	})
	if n := s.Uploads(); n != 0 {
		t.Errorf("%d multipart uploads were left behind", n)
	}
}

// Servers that are already running: ROLLMILL_TEST_STORES lists their URIs,
// separated by blanks. The suite does not remove what it wrote.
func TestOtherStoresConformance(t *testing.T) {
	uris := strings.Fields(os.Getenv("ROLLMILL_TEST_STORES"))
	if len(uris) == 0 {
		t.Skip("ROLLMILL_TEST_STORES names no store")
	}
	for _, uri := range uris {
		scheme, _, _ := strings.Cut(uri, "://")
		t.Run(scheme, func(t *testing.T) {
			count, run := 0, time.Now().UnixNano()
			storagetest.Run(t, func(t *testing.T) *storage.Bucket {
				count++
				return open(t, storage.Join(uri, fmt.Sprintf("suite-%d/%d", run, count)))
			})
		})
	}
}

// A request with a lost response, half a body or a temporary refusal is
// repeated; the object is there once, and its creator gets no error.
func TestTemporaryFailuresAreRepeated(t *testing.T) {
	s := s3test.Start(t)
	for name, f := range map[string]s3test.Faults{
		"refused": {Refused: 0.2}, "cut": {Cut: 0.2}, "lost": {Lost: 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, s.URI("moments/"+name))
			if _, err := b.Exclusive(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.Seed = 7
			before := s.Failed()
			s.SetFaults(f)
			defer s.SetFaults(s3test.Faults{})
			var want []string
			for i := range 8 {
				key := fmt.Sprintf("k%02d", i)
				text := strings.Repeat(key, 1000)
				want = append(want, key)
				if err := b.Create(t.Context(), key, []byte(text)); err != nil {
					t.Fatal(err)
				}
				got, err := b.Read(t.Context(), key)
				if err != nil || string(got) != text {
					t.Fatalf("%s: read %d bytes, %v", key, len(got), err)
				}
				if err := b.Create(t.Context(), key, []byte(text)); !errors.Is(err, storage.ErrExist) {
					t.Fatalf("creating %s again: %v", key, err)
				}
			}
			var got []string
			for o, err := range b.List(t.Context(), "k") {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, o.Key)
			}
			if !slices.Equal(got, want) {
				t.Errorf("listed %q", got)
			}
			if s.Failed() == before {
				t.Error("nothing went wrong: the test shows nothing")
			}
		})
	}
}

// A cancelled multipart upload leaves no parts.
func TestACancelledUploadLeavesNoParts(t *testing.T) {
	s := s3test.Start(t)
	b := open(t, s.URI("parts"))
	if _, err := b.Exclusive(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	d, err := b.Draft(ctx)
	if err != nil {
		t.Fatal(err)
	}
	chunk := make([]byte, 1<<20)
	for range 40 {
		if _, err := d.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	var arrived atomic.Int32
	s.OnRequest(func(r *http.Request) {
		if s3test.IsPart(r) {
			arrived.Add(1)
			cancel()
		}
	})
	if err := d.Create(ctx, "big"); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled upload: %v", err)
	}
	if n := s.Uploads(); n != 0 {
		t.Errorf("%d multipart uploads were left behind", n)
	}
	if arrived.Load() == 0 {
		t.Error("no part was sent: the test shows nothing")
	}
	if _, err := b.Stat(t.Context(), "big"); !errors.Is(err, storage.ErrNotExist) {
		t.Errorf("the object: %v", err)
	}
}

// A store that accepts a condition and ignores it is detected, and Create does
// the best that is possible.
func TestStoreWithoutCreateOnlyIsDetected(t *testing.T) {
	s := s3test.Start(t)
	s.SetFaults(s3test.Faults{IgnoreConditions: true})
	storage.SetSettling(t, 200*time.Millisecond)
	b := open(t, s.URI("loose"))
	if yes, err := b.Exclusive(t.Context()); err != nil || yes {
		t.Fatalf("exclusive: %v, %v", yes, err)
	}
	errs := make(chan error)
	for i := range 8 {
		go func() { errs <- b.Create(t.Context(), "race", fmt.Appendf(nil, "racer %d", i)) }()
	}
	won := 0
	for range 8 {
		switch err := <-errs; {
		case err == nil:
			won++
		case !errors.Is(err, storage.ErrExist):
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d of 8 won", won)
	}
	if err := b.Create(t.Context(), "race", nil); !errors.Is(err, storage.ErrExist) {
		t.Errorf("creating what is there: %v", err)
	}
}

// A store that respects the condition is tested with two requests at first, and
// with one in the next process.
func TestAProbeCostsOneRequest(t *testing.T) {
	s := s3test.Start(t)
	for i, want := range []int{2, 1} {
		s.Reset()
		b := open(t, s.URI("probed")+fmt.Sprintf("&rate_limiter_capacity=%d", i)) // another client
		for range 3 {
			if yes, err := b.Exclusive(t.Context()); err != nil || !yes {
				t.Fatalf("exclusive: %v, %v", yes, err)
			}
		}
		if n := s.Counts().Requests(); n != want {
			t.Errorf("process %d: %d requests, want %d", i, n, want)
		}
	}
}

func TestMissingBucketIsNotAMissingObject(t *testing.T) {
	s := s3test.Start(t)
	b := open(t, s.URI("x"))
	if err := b.Create(t.Context(), "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	if err := s.DropBucket(); err != nil {
		t.Fatal(err)
	}
	_, read := b.Read(t.Context(), "k")
	var list error
	for _, err := range b.List(t.Context(), "") {
		list = err
	}
	for op, err := range map[string]error{"read": read, "list": list, "create": b.Create(t.Context(), "n", nil), "write": b.Write(t.Context(), "k", nil)} {
		if !errors.Is(err, storage.ErrNoBucket) || errors.Is(err, storage.ErrNotExist) {
			t.Errorf("%s: %v", op, err)
		}
	}
}

// Numbers that a bill depends on: reading a range is one request, and so is
// writing an object.
func TestRequestsAreFew(t *testing.T) {
	s := s3test.Start(t)
	b := open(t, s.URI("bill"))
	if _, err := b.Exclusive(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Reset()
	if err := b.Create(t.Context(), "k", []byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Counts(), (s3test.Counts{Put: 1, BytesIn: s.Counts().BytesIn}); got != want {
		t.Errorf("create: %+v", got)
	}
	s.Reset()
	r, err := b.Open(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 4)
	if _, err := r.ReadAt(p, 3); err != nil || string(p) != "3456" {
		t.Errorf("%q, %v", p, err)
	}
	if _, err := r.ReadAt(p, 8); err != io.EOF {
		t.Error(err)
	}
	if got, want := s.Counts(), (s3test.Counts{Head: 1, Get: 2, BytesOut: 6}); got != want {
		t.Errorf("two ranges: %+v", got)
	}
}

// A known size is not requested, and is compared with every response.
func TestAKnownSizeSavesARequest(t *testing.T) {
	s := s3test.Start(t)
	for name, b := range map[string]*storage.Bucket{"s3": open(t, s.URI("sized")), "disk": open(t, t.TempDir()), "mem": open(t, "mem://"+t.Name())} {
		if err := b.Create(t.Context(), "k", []byte("0123456789")); err != nil {
			t.Fatal(err)
		}
		s.Reset()
		r, err := b.OpenSized(t.Context(), "k", 10)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 4)
		if _, err := r.ReadAt(p, 6); err != nil || string(p) != "6789" {
			t.Errorf("%s: %q, %v", name, p, err)
		}
		if got := s.Counts(); name == "s3" && got != (s3test.Counts{Get: 1, BytesOut: 4}) {
			t.Errorf("%+v", got)
		}
		for _, size := range []int64{9, 20} {
			r, err := b.OpenSized(t.Context(), "k", size)
			if err == nil {
				_, err = r.ReadAt(p[:1], 0)
			}
			if err == nil || !strings.Contains(err.Error(), "it was changed") {
				t.Errorf("%s: read as %d bytes: %v", name, size, err)
			}
		}
	}
}

func TestURIsOfStoresAreChecked(t *testing.T) {
	for uri, want := range map[string]string{
		"s3://":                            "bucket's name is missing",
		"s3:///prefix":                     "bucket's name is missing",
		"s3://key:secret@bucket/x":         "no credentials in a URI",
		"s3://bucket/x?regoin=us-east-1":   `unknown parameter "regoin"`,
		"gs://bucket/x?endpoint=http://h":  `unknown parameter "endpoint"`,
		"azblob://bucket/x?account=a":      `unknown parameter "account"`,
		"s3://bucket/a//b":                 "a part is empty",
		"s3://bucket/../b":                 "a part is empty, . or ..",
		"s3://bucket/x?use_path_style=yes": "invalid value",
	} {
		_, err := storage.Open(t.Context(), uri)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", uri, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret@") {
			t.Errorf("a secret is told: %v", err)
		}
	}
}
