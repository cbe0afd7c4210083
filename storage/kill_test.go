package storage_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/stores"
)

// The tests of this file start this test binary again as the process to kill.
const victim = "ROLLMILL_STORAGE_VICTIM"

func TestMain(m *testing.M) {
	if how := os.Getenv(victim); how != "" {
		fmt.Println(victimise(how, os.Args[1]))
		os.Exit(1)
	}
	shortenPauses()
	os.Exit(m.Run())
}

// shortenPauses shortens the pauses between attempts, ours and those of S3's client
// library, whose number stays the same.
func shortenPauses() {
	storage.ShortenPauses()
	options := stores.S3Options
	stores.S3Options = func(o *s3.Options) {
		options(o)
		o.Retryer = retry.AddWithMaxBackoffDelay(o.Retryer, 10*time.Millisecond)
	}
}

// victimise writes until it is killed, and prints to stdout when it has begun.
func victimise(how, uri string) error {
	ctx := context.Background()
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return err
	}
	chunk := bytes.Repeat([]byte("x"), 1<<16)
	if how == "draft" {
		d, err := b.Draft(ctx)
		for i := 0; err == nil; i++ {
			if _, err = d.Write(chunk); i == 10 {
				fmt.Println("begun")
			}
			if i > 1<<14 {
				io.Copy(io.Discard, os.Stdin) // enough: wait for the end
			}
		}
		return err
	}
	for i := 0; ; i++ {
		err := b.Create(ctx, fmt.Sprintf("dir/%06d", i), chunk)
		if how == "replace" {
			err = b.Write(ctx, "dir/k", bytes.Repeat([]byte{byte('a' + i%26)}, 1<<16))
		}
		if err != nil {
			return err
		}
		if i == 3 {
			fmt.Println("begun")
		}
	}
}

// kill starts a victim on a new folder and kills it once it has begun.
func kill(t *testing.T, how string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	cmd := exec.CommandContext(t.Context(), os.Args[0], dir)
	cmd.Env = append(os.Environ(), victim+"="+how)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if strings.TrimSpace(line) != "begun" {
		t.Fatalf("the victim said %q", line)
	}
	return dir
}

// unnamed reports whether drafts in a folder are unnamed files.
func unnamed(t *testing.T, dir string) bool {
	t.Helper()
	d, err := open(t, dir).Draft(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Discard()
	for _, f := range files(t, dir) {
		if strings.Contains(f, ".tmp-") {
			return false
		}
	}
	return true
}

func TestKilledWhileWritingADraftLeavesNothing(t *testing.T) {
	dir := kill(t, "draft")
	for o, err := range open(t, dir).List(t.Context(), "") {
		t.Errorf("%+v is visible, %v", o, err)
	}
	if left := files(t, dir); len(left) > 0 && unnamed(t, dir) {
		t.Errorf("the folder holds %q", left)
	}
}

func TestKilledWhileCreatingLeavesWholeObjects(t *testing.T) {
	dir := kill(t, "create")
	n := 0
	for o, err := range open(t, dir).List(t.Context(), "") {
		if err != nil || o.Size != 1<<16 {
			t.Errorf("%+v is visible, %v", o, err)
		}
		n++
	}
	if n < 4 {
		t.Errorf("%d objects, want the 4 that were created before", n)
	}
	if left := files(t, filepath.Join(dir, "dir")); len(left) != n && unnamed(t, dir) {
		t.Errorf("%d objects, but the folder holds %q", n, left)
	}
}

func TestKilledWhileReplacingLeavesOneVersion(t *testing.T) {
	dir := kill(t, "replace")
	got, err := open(t, dir).Read(t.Context(), "dir/k")
	if err != nil || len(got) != 1<<16 || !bytes.Equal(got, bytes.Repeat(got[:1], 1<<16)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for o := range open(t, dir).List(t.Context(), "dir/") {
		if o.Key != "dir/k" && !strings.HasPrefix(o.Key, "dir/0") {
			t.Errorf("%q is visible", o.Key)
		}
	}
}
