package runroot_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/s3test"
)

// TestRacingCallersShareOneRunID: the first caller that opens a run makes its
// id, and all callers return it, then and later.
func TestRacingCallersShareOneRunID(t *testing.T) {
	roots := map[string]string{"disk": t.TempDir(), "memory": fmt.Sprintf("mem://%p/run", t), "bucket": s3test.Start(t).URI("run")}
	for name, root := range roots {
		t.Run(name, func(t *testing.T) {
			ids := make([]string, 16)
			var all sync.WaitGroup
			for i := range ids {
				all.Go(func() {
					r, err := runroot.Open(t.Context(), root)
					if err != nil {
						t.Error(err)
					}
					ids[i] = r.ID
				})
			}
			all.Wait()
			again, err := runroot.Open(t.Context(), root)
			if err != nil || len(again.ID) != 32 {
				t.Fatalf("%+v, %v", again, err)
			}
			for _, id := range ids {
				if id != again.ID {
					t.Errorf("a caller has %q, and the run is %q", id, again.ID)
				}
			}
		})
	}
}

// copied copies a folder.
func copied(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// TestARunIsFoundByItsID looks from the places where datasets and copies of
// them may be.
func TestARunIsFoundByItsID(t *testing.T) {
	fresh := func(t *testing.T) (root string, r manifest.Run) {
		root = filepath.Join(t.TempDir(), "root")
		r, err := runroot.Open(t.Context(), root)
		if err != nil || r.Root != root {
			t.Fatalf("%+v, %v", r, err)
		}
		return root, r
	}
	found := func(t *testing.T, in string, r manifest.Run, want string, given ...string) {
		t.Helper()
		if root, err := runroot.Find(t.Context(), in, r, given...); err != nil || root != want {
			t.Errorf("found %q, %v; want %q", root, err, want)
		}
	}
	refused := func(t *testing.T, in string, r manifest.Run, words ...string) {
		t.Helper()
		root, err := runroot.Find(t.Context(), in, r)
		var input *fault.Error
		if !errors.As(err, &input) {
			t.Fatalf("found %q, %v", root, err)
		}
		for _, w := range append(words, "--ledger") {
			if text := err.Error() + fault.HintOf(input); !strings.Contains(text, w) {
				t.Errorf("%q does not say %q", text, w)
			}
		}
	}
	t.Run("beneath the root", func(t *testing.T) {
		root, r := fresh(t)
		found(t, root+"/epoch-0/curate", manifest.Run{ID: r.ID}, root)
	})
	t.Run("beneath a link to the root", func(t *testing.T) {
		root, r := fresh(t)
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(root, link); err != nil {
			t.Fatal(err)
		}
		found(t, link+"/epoch-0/curate", r, link) // one place, not two
	})
	t.Run("beneath another run's root", func(t *testing.T) {
		root, r := fresh(t)
		other, _ := fresh(t)
		found(t, other+"/epoch-0/curate", r, root)
	})
	t.Run("elsewhere", func(t *testing.T) {
		root, r := fresh(t)
		found(t, t.TempDir()+"/copy", r, root)
		found(t, t.TempDir()+"/copy", manifest.Run{ID: r.ID}, root, root)
	})
	t.Run("the root was moved", func(t *testing.T) {
		root, r := fresh(t)
		moved := filepath.Join(t.TempDir(), "moved")
		if err := os.Rename(root, moved); err != nil {
			t.Fatal(err)
		}
		found(t, moved+"/epoch-0/curate", r, moved)
	})
	t.Run("the root was copied", func(t *testing.T) {
		root, r := fresh(t)
		copy := filepath.Join(t.TempDir(), "copy")
		copied(t, root, copy)
		refused(t, copy+"/epoch-0/curate", r, root, copy)
		made, err := runroot.Open(t.Context(), copy) // a dataset made there records no other root
		if err != nil {
			t.Fatal(err)
		}
		refused(t, copy+"/epoch-1/curate", made, root, copy)
	})
	t.Run("nowhere", func(t *testing.T) {
		root, r := fresh(t)
		os.RemoveAll(root)
		refused(t, t.TempDir()+"/copy", r, r.ID, root)
		if _, err := runroot.Open(t.Context(), root); err != nil { // another run, at the same place
			t.Fatal(err)
		}
		refused(t, root+"/epoch-0/curate", r, r.ID)
	})
	t.Run("the root is a file now", func(t *testing.T) {
		root, r := fresh(t)
		os.RemoveAll(root)
		if err := os.WriteFile(root, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, t.TempDir()+"/copy", r, root)
	})
	t.Run("the id is damaged", func(t *testing.T) {
		for _, text := range []string{"", "{}", `{"format":"rollmill-run/1","id":"short"}`, strings.Repeat(" ", 1<<20)} {
			root, r := fresh(t)
			if err := os.WriteFile(filepath.Join(root, runroot.File), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			refused(t, root+"/epoch-0/curate", r, "run.json", "backup")
			if _, err := runroot.Open(t.Context(), root); !errors.Is(err, fault.ErrInvalid) {
				t.Errorf("opened: %v", err)
			}
		}
	})
}

// TestARecordedRootIsFollowedWithinItsStoreOnly: a manifest cannot cause
// requests to another host.
func TestARecordedRootIsFollowedWithinItsStoreOnly(t *testing.T) {
	own, other := s3test.Start(t), s3test.Start(t)
	r, err := runroot.Open(t.Context(), other.URI("run"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Root != other.URI("run") {
		t.Fatalf("it records %q", r.Root)
	}
	before := other.Counts().Requests()
	for _, in := range []string{own.URI("copy/curate"), t.TempDir()} {
		if root, err := runroot.Find(t.Context(), in, r); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "not followed") {
			t.Errorf("from %q: found %q, %v", in, root, err)
		}
	}
	if n := other.Counts().Requests() - before; n != 0 {
		t.Errorf("the other store was asked %d times", n)
	}
	if root, err := runroot.Find(t.Context(), other.URI("elsewhere/curate"), r); err != nil || root != r.Root {
		t.Errorf("in its own store: %q, %v", root, err)
	}
	given := strings.Replace(r.Root, "us-east-1", "us-west-2", 1) // the same place, spelled differently
	for _, given := range [][]string{nil, {given}} {
		if root, err := runroot.Find(t.Context(), other.URI("run/epoch-0/curate"), r, given...); err != nil || root != r.Root {
			t.Errorf("beneath it: %q, %v", root, err)
		}
	}
	if root, err := runroot.Find(t.Context(), t.TempDir(), r, given); err != nil || root != given {
		t.Errorf("told of it: %q, %v", root, err)
	}
}

// TestARootWithASecretIsNotRecorded: the hint is left out and the id is kept.
func TestARootWithASecretIsNotRecorded(t *testing.T) {
	secrets := &secret.Set{}
	secrets.Add("TEAM_TOKEN", "wanderlust-42")
	ctx := secret.With(t.Context(), secrets)
	const sealed = "s3://b/run?endpoint=http%3A%2F%2Fme%3Ahush%40host"
	for i, root := range []string{t.TempDir() + "/wanderlust-42", sealed, "s3://b/run?password=hush", "s3://me:hush@b/run", "s3://b/run?apikey=redacted"} {
		id := manifest.Run{ID: strings.Repeat("a", 32), Root: root}
		if i == 0 {
			made, err := runroot.Open(ctx, root)
			if err != nil || made.ID == "" || made.Root != "" {
				t.Errorf("%+v, %v", made, err)
			}
			text, err := os.ReadFile(filepath.Join(root, runroot.File))
			if err != nil || strings.Contains(string(text), "wanderlust") {
				t.Errorf("%s, %v", text, err)
			}
		}
		d := ofRun(ctx, t, t.TempDir()+"/d", id)
		if d.Run.ID != id.ID || d.Run.Root != "" {
			t.Errorf("%q is stored as %+v", root, d.Run)
		}
	}
}

func ofRun(ctx context.Context, t *testing.T, uri string, r manifest.Run) *dataset.Dataset {
	t.Helper()
	s, err := shards.Begin(ctx, uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories, Run: r}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(ctx, shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestTheRunIsNoPartOfADatasetsIdentity: the same rows in two runs are the same
// dataset, and references between them are accepted.
func TestTheRunIsNoPartOfADatasetsIdentity(t *testing.T) {
	dir := t.TempDir()
	one := ofRun(t.Context(), t, dir+"/one", manifest.Run{ID: strings.Repeat("1", 32), Root: "/one"})
	two := ofRun(t.Context(), t, dir+"/two", manifest.Run{ID: strings.Repeat("2", 32), Root: "/two"})
	if a, b := one.Ref("base", dir), two.Ref("base", dir); a.Identity != b.Identity || a.Digest != b.Digest {
		t.Errorf("%+v and %+v", a, b)
	}
	if one.Run == two.Run {
		t.Error("both have the same run")
	}
}

// TestRootOf checks which root follows from the place of a dataset.
func TestRootOf(t *testing.T) {
	for uri, want := range map[string]string{
		"/r/epoch-0/rollout":              "/r",
		"/r/epoch-12/validation/rollout":  "/r",
		"/r/epoch-1/extended/rollout":     "/r",
		"/r/rollout":                      "/r",
		"/r/epochs/rollout":               "/r/epochs",
		"s3://b/r/epoch-0/rollout?region": "s3://b/r?region",
		"s3://b/epoch-0/rollout":          "s3://b",
		"s3://b/rollout":                  "s3://b",
		"s3://b":                          "s3://b",
		"file:///r/epoch-0/rollout":       "/r",
	} {
		if root := runroot.Of(uri); root != want {
			t.Errorf("Of(%q) = %q, want %q", uri, root, want)
		}
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	if root := runroot.Of("rollout"); root != here {
		t.Errorf("Of of a relative path is %q", root)
	}
}
