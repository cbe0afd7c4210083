package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/storage/s3test"
)

// TestTerminatedWhileUploading checks that SIGTERM during a multipart upload ends
// the stage with code 143, and leaves no dataset and no uploaded parts, which would
// cost money. The same command then makes the rows of an undisturbed run.
func TestTerminatedWhileUploading(t *testing.T) {
	server := s3test.Start(t)
	at := func(name string) string { return server.URI("run/" + name) }
	storedBig(t, at("rollout"), 700)
	curate := func(ctx context.Context, out string) (int, string) {
		var stdout, stderr bytes.Buffer
		code := app().Run(ctx, []string{"rollmill", "curate", "--in", at("group"), "--keep-flat", "--out", out},
			terminal.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Lookup: os.LookupEnv})
		return code, stderr.String()
	}
	for _, args := range [][]string{
		{"score", "--in", at("rollout"), "--reward", "size=expr:len(answer)", "--out", at("score")},
		{"group", "--in", at("score"), "--out", at("group")},
	} {
		if code, _, stderr := rollmill(t, args...); code != 0 {
			t.Fatalf("%s: exit code %d: %s", args[0], code, stderr)
		}
	}
	if code, stderr := curate(t.Context(), at("calm")); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	var once sync.Once
	var parts atomic.Int64
	server.OnRequest(func(r *http.Request) {
		if s3test.IsPart(r) {
			once.Do(func() { cancel(cli.Interrupted{Signal: syscall.SIGTERM}) })
			parts.Add(1)
		}
	})
	code, stderr := curate(ctx, at("stopped"))
	server.OnRequest(nil)
	if code != cli.ExitTerminated {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if parts.Load() == 0 {
		t.Fatal("nothing was uploaded in parts")
	}
	if n := server.Uploads(); n != 0 {
		t.Errorf("%d multipart uploads were left behind", n)
	}
	if _, err := dataset.Open(t.Context(), at("stopped"), dataset.OpenOptions{}); err == nil {
		t.Error("half a dataset is there")
	}
	if code, stderr := curate(t.Context(), at("stopped")); code != 0 {
		t.Fatalf("again: exit code %d: %s", code, stderr)
	}
	calm, again := opened(t, at("calm")), opened(t, at("stopped"))
	if calm.RowsDigest != again.RowsDigest || calm.Rows == 0 {
		t.Errorf("%d rows %s, undisturbed %d rows %s", again.Rows, again.RowsDigest, calm.Rows, calm.RowsDigest)
	}
}

func opened(t *testing.T, uri string) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
