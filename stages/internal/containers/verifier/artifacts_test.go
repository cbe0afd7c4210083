package verifier

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/stages/internal/containers"
)

// TestKept: what is kept is bounded, and a cut text ends between characters.
func TestKept(t *testing.T) {
	k := &kept{harbor.Kept{Left: 5}}
	for name, text := range map[string]string{"/a": "ééé"} {
		if err := k.Add(name, int64(len(text)), strings.NewReader(text)); err != nil {
			t.Error(err)
		}
	}
	k.Add("/a", 1, strings.NewReader("b"))
	k.Add("/b", 1, strings.NewReader("b"))
	if d := cmp.Diff([]formats.Artifact{{Name: "/a", Bytes: 6, Content: "éé"}, {Name: "/b", Bytes: 1}}, k.List); d != "" {
		t.Errorf("-want +got: %s", d)
	}
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666); err != nil {
		t.Skip(err)
	}
	if err := k.folder(t.Context(), dir, "/logs"); err != nil || len(k.List) != 2 {
		t.Errorf("%v: %v", err, k.List)
	}
}

// TestKeptEnds: reading what an attempt left ends with its limits and its context.
func TestKeptEnds(t *testing.T) {
	many, deep := t.TempDir(), t.TempDir()
	for i := range containers.Visited {
		if err := os.Symlink("none", filepath.Join(many, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	nested := filepath.Join(deep, strings.Repeat("d/", 3*containers.Deepest))
	if err := os.MkdirAll(nested, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(many, "z"), filepath.Join(nested, "z"), filepath.Join(deep, "a")} {
		if err := os.WriteFile(file, []byte("text"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string][]formats.Artifact{many: nil, deep: {{Name: "/logs/a", Bytes: 4, Content: "text"}}} {
		k := &kept{harbor.Kept{Left: 100}}
		if err := k.folder(t.Context(), dir, "/logs"); err == nil || cmp.Diff(want, k.List) != "" && dir == deep {
			t.Errorf("%v: %v", err, k.List)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	k := &kept{harbor.Kept{Left: 100}}
	if err := k.folder(ended, deep, "/logs"); !errors.Is(err, context.Canceled) || len(k.List) > 0 {
		t.Errorf("%v: %v", err, k.List)
	}
	k.List = make([]formats.Artifact, harbor.MaxArtifacts)
	if err := k.folder(t.Context(), deep, "/logs"); err == nil || len(k.List) != harbor.MaxArtifacts {
		t.Errorf("%v: %d files", err, len(k.List))
	}
}
