package storage_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/s3test"
)

// An operation on a store that accepts requests and never responds ends when
// the time of its request is over.
func TestSilentStoreTimesOut(t *testing.T) {
	s := s3test.Start(t)
	b := open(t, s.URI("silent"))
	ctx := t.Context()
	if err := b.Create(ctx, "k", []byte("value")); err != nil {
		t.Fatal(err)
	}
	src, err := b.OpenSized(ctx, "k", 5)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	storage.SetPatience(t, 20*time.Millisecond)
	s.SetFaults(s3test.Faults{Silent: 1})
	for name, ask := range map[string]func() error{
		"read":   func() error { _, err := b.Read(ctx, "k"); return err },
		"range":  func() error { _, err := src.ReadAt(make([]byte, 3), 0); return err },
		"stat":   func() error { _, err := b.Stat(ctx, "k"); return err },
		"write":  func() error { return b.Write(ctx, "l", []byte("value")) },
		"create": func() error { return b.Create(ctx, "m", []byte("value")) },
		"swap":   func() error { return b.Swap(ctx, "k", []byte("value"), []byte("other")) },
		"delete": func() error { return b.Delete(ctx, "k") },
		"list": func() error {
			for _, err := range b.List(ctx, "") {
				return err
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			go func() { ended <- ask() }()
			select {
			case err := <-ended:
				if !errors.Is(err, storage.ErrTemporary) || errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("it waits for a store that says nothing")
			}
		})
	}
	s.SetFaults(s3test.Faults{})
	if data, err := b.Read(ctx, "k"); err != nil || string(data) != "value" {
		t.Errorf("%q, %v", data, err)
	}
}

// A request that a store did not answer is repeated.
func TestUnansweredRequestIsRepeated(t *testing.T) {
	s := s3test.Start(t)
	b := open(t, s.URI("forgetful"))
	storage.SetPatience(t, 500*time.Millisecond)
	s.SetFaults(s3test.Faults{Seed: 3, Silent: 0.2})
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		if err := b.Create(t.Context(), key, []byte(key)); err != nil {
			t.Fatal(err)
		}
		if data, err := b.Read(t.Context(), key); err != nil || string(data) != key {
			t.Fatalf("%q, %v", data, err)
		}
	}
	if s.Failed() == 0 {
		t.Error("every request was answered: the test shows nothing")
	}
}
