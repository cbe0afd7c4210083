package hfhub_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/stages/backends/hfhub"
	"github.com/rollmill/rollmill/stages/backends/hubtest"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/storage/fault"
)

const id = "acme/rollouts"

func start(t *testing.T, f hubtest.Faults) (*hfhub.Client, *hubtest.Server) {
	t.Helper()
	s := hubtest.Serve(f)
	t.Cleanup(s.Close)
	c := hfhub.New("hub", s.URL+"/", hubtest.Token)
	if err := c.Create(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return c, s
}

// small returns a file of these bytes.
func small(path string, data []byte) hfhub.File {
	return hfhub.File{Path: path, Size: int64(len(data)), SHA256: fmt.Sprintf("%x", sha256.Sum256(data)), Content: bytes.NewReader(data)}
}

func change(files ...hfhub.File) hfhub.Change {
	return hfhub.Change{Repo: id, Summary: "a batch", Files: files, Settle: time.Millisecond, Guard: func() error { return nil }}
}

var (
	large = bytes.Repeat([]byte("0123456789"), 100)
	both  = []hfhub.File{small("README.md", []byte("# a card\n")), small("data/train.parquet", large), small("empty.parquet", nil)}
)

func holds(t *testing.T, s *hubtest.Server) {
	t.Helper()
	files := s.Files(id)
	if files["README.md"] != "# a card\n" || files["data/train.parquet"] != string(large) || len(files) < 4 {
		t.Errorf("%q", files)
	}
}

func count(log []string, part string) (n int) {
	for _, line := range log {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// Whatever a store is like, or does wrong that passes: one commit of ours.
func TestOneCommitHoldsEverything(t *testing.T) {
	for name, f := range map[string]hubtest.Faults{
		"as it should be":                  {},
		"in parts":                         {ChunkSize: 300},
		"in parts of one byte less":        {ChunkSize: int64(len(large)) - 1},
		"everything regular":               {Modes: map[string]string{".parquet": "regular"}},
		"everything large":                 {Modes: map[string]string{".md": "lfs"}},
		"no shouldIgnore":                  {NoIgnoreKey: true},
		"no oid":                           {NoOID: true},
		"an empty commit address":          {EmptyCommitURL: true},
		"addresses of the public hub":      {PublicURLs: true, ChunkSize: 300},
		"busy":                             {Busy: 1},
		"storage is busy":                  {PutFails: 2, ChunkSize: 300},
		"the token may not create":         {},
		"a race of creations":              {CreateRaces: 2},
		"no head is told":                  {NoHead: true},
		"a tree in pages":                  {PageSize: 1},
		"somebody commits meanwhile (412)": {Intruders: 2},
		"applied, but 500":                 {AppliedThen500: 1},
		"applied, but 500, no head":        {AppliedThen500: 1, NoHead: true, NoOID: true},
		"applied, and dropped":             {DropAfterCommit: 1},
		"not applied, and dropped":         {DropBeforeCommit: 2},
		"old keys":                         {OldKeys: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := hubtest.Serve(f)
			defer s.Close()
			c := hfhub.New("hub", s.URL, hubtest.Token)
			if err := c.Create(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			oid, err := c.Push(t.Context(), change(both...))
			if err != nil {
				t.Fatal(err)
			}
			holds(t, s)
			if n := slices.Compact(s.Commits(id)); n[len(n)-1] != "a batch" || count(s.Commits(id), "a batch") != 1 {
				t.Errorf("commits %q", s.Commits(id))
			}
			if n := count(s.Log(), "/commit/"); f.Intruders > 0 && n != f.Intruders+1 { // each named a parent that was not the head any more
				t.Errorf("%d commits were asked for", n)
			}
			if head, err := c.Head(t.Context(), id); err != nil || head != oid && !f.NoHead {
				t.Errorf("%q, head %q, %v", oid, head, err)
			}
		})
	}
}

func TestWhatIsThereIsNotSentAgain(t *testing.T) {
	c, s := start(t, hubtest.Faults{})
	one, err := c.Push(t.Context(), change(both...))
	if err != nil {
		t.Fatal(err)
	}
	before := len(s.Log())
	two, err := c.Push(t.Context(), change(both...))
	if err != nil || one != two || len(s.Commits(id)) != 1 {
		t.Errorf("%q %q %v", one, two, err)
	}
	if log := s.Log()[before:]; count(log, "POST") != 0 {
		t.Errorf("%q", log)
	}
	// The content of a moved file is known to the store: it is not uploaded twice.
	before = len(s.Log())
	if _, err := c.Push(t.Context(), change(small("data/other.parquet", large))); err != nil {
		t.Fatal(err)
	}
	if log := s.Log()[before:]; count(log, "PUT") != 0 || count(log, "/batch") != 1 {
		t.Errorf("%q", log)
	}
}

func TestOldFilesGoInTheSameCommit(t *testing.T) {
	c, s := start(t, hubtest.Faults{})
	s.Put(id, "data/old.txt", "stale")
	s.Put(id, "notes.txt", "theirs")
	ch := change(both...)
	ch.Delete = func(path string) bool { return strings.HasPrefix(path, "data/") }
	if _, err := c.Push(t.Context(), ch); err != nil {
		t.Fatal(err)
	}
	files := s.Files(id)
	if _, there := files["data/old.txt"]; there || files["notes.txt"] != "theirs" || len(s.Commits(id)) != 3 {
		t.Errorf("%q in %q", files, s.Commits(id))
	}
	holds(t, s)
}

// What a store does wrong that does not pass: an error, and no commit.
func TestWhatIsRefused(t *testing.T) {
	for want, f := range map[string]hubtest.Faults{
		"422: not acceptable":            {BatchError: "not acceptable"},
		"without an ETag":                {NoETag: true, ChunkSize: 300},
		"was not uploaded":               {VerifyRefused: true},
		"neither regular nor lfs":        {Modes: map[string]string{".parquet": "xet"}},
		"by its .gitignore":              {Ignored: ".parquet"},
		"400: no commits today":          {CommitRefused: 400},
		"gave up after 8 attempts":       {DropBeforeCommit: 100},
		"412: A commit has happened":     {Intruders: 100},
		"503: no commits today":          {CommitRefused: 503},
		"names no commit":                {NoCommitOID: true, NoHead: true, NoOID: true, Modes: map[string]string{".parquet": "lfs"}},
		"403: no commits today":          {CommitRefused: 403},
		"429: no commits today":          {CommitRefused: 429},
		"Invalid credentials":            {EchoesToken: true},
		"gave up after 8 attempts: hub:": {CommitRefused: 502},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			c, s := start(t, f)
			if f.EchoesToken {
				c.Token = "hf_another_secret"
			}
			_, err := c.Push(t.Context(), change(both...))
			if f.NoCommitOID { // it is made, and found
				if err != nil || len(s.Commits(id)) != 1 {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || count(s.Commits(id), "a batch") != 0 {
				t.Errorf("%v, %q", err, s.Commits(id))
			}
		})
	}
}

func TestATokenThatMayNotCreate(t *testing.T) {
	s := hubtest.Serve(hubtest.Faults{CreateForbidden: true})
	defer s.Close()
	c := hfhub.New("hub", s.URL, hubtest.Token)
	c.Help = "give it the right to write"
	err := c.Create(t.Context(), id)
	if remote.Status(err) != http.StatusForbidden || fault.HintOf(err) == "" || fault.HintOf(err) != c.Help {
		t.Error(err)
	}
	s.Put(id, "a.txt", "it is there")
	if err := c.Create(t.Context(), id); err != nil {
		t.Error(err)
	}
}

func TestNothingIsSentWithoutTheLease(t *testing.T) {
	c, s := start(t, hubtest.Faults{})
	lost := errors.New("the lease ran out")
	ch := change(both...)
	ch.Guard = func() error { return lost }
	if _, err := c.Push(t.Context(), ch); !errors.Is(err, lost) || len(s.Commits(id)) != 0 || count(s.Log(), "PUT") != 0 {
		t.Error(err, s.Log())
	}
}

func TestACancelledPushEnds(t *testing.T) {
	c, _ := start(t, hubtest.Faults{DropBeforeCommit: 100})
	ctx, cancel := context.WithCancel(t.Context())
	ch := change(both...)
	ch.Settle = time.Hour
	guarded := 0
	ch.Guard = func() error {
		if guarded++; guarded == 2 { // before the commit
			time.AfterFunc(time.Millisecond, cancel)
		}
		return nil
	}
	if _, err := c.Push(ctx, ch); err == nil {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	for id, good := range map[string]bool{
		"acme/rollouts": true, "rollouts": true, "Acme_1/a.b-c": true, "a/b/c": false, "": false, "acme/": false, "-a/b": false, "a/b.": false, "a/b--c": false,
		"a/b..c": false, "a/b.git": false, "a/b c": false, "a/" + strings.Repeat("x", 95): false,
	} {
		if err := hfhub.CheckID(id); (err == nil) != good {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestASpool(t *testing.T) {
	s, err := hfhub.NewSpool()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fmt.Fprint(s, "one ")
	fmt.Fprint(s, "two")
	f, want := s.File("a"), small("a", []byte("one two"))
	got := make([]byte, f.Size)
	if _, err := f.Content.ReadAt(got, 0); err != nil || string(got) != "one two" || f.SHA256 != want.SHA256 || f.Size != want.Size {
		t.Errorf("%+v %q %v", f, got, err)
	}
}
