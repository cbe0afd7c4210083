package harbor

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/workspaces"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/formats/workspace"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// keeps makes an attempt whose harness is a script, and returns what was kept and the names in the archive.
func keeps(t *testing.T, runtime, script string, files map[string]string) (w formats.Workspace, names []string, result agents.Result, err error) {
	t.Helper()
	known := &secret.Set{}
	known.Add("ENGINE_KEY", "sk-engine-0123456789")
	ctx := secret.With(t.Context(), known)
	a := on(t, runtime, func(s *Settings) { s.Harness = script })
	var archive bytes.Buffer
	result, err = a.Attempt(ctx, agents.Attempt{Example: example(t, a, changed(t, runtime, files)), TrajectoryID: "t", BaseURL: "http://127.0.0.1:1/t/t/v1",
		Keep: func(_ context.Context, kept formats.Workspace, from io.Reader) error {
			w = kept
			_, err := io.Copy(&archive, from)
			return err
		}})
	if key := workspaces.KeyOf(string(result.Metadata)); key != w.Key() {
		t.Errorf("the row names workspace %q, kept was %q: %v", key, w.Key(), err)
	}
	for in := tar.NewReader(bytes.NewReader(archive.Bytes())); ; {
		h, err := in.Next()
		if err != nil {
			break
		}
		name := h.Name
		if h.PAXRecords["ROLLMILL.removed"] != "" {
			name = "-" + name
		}
		names = append(names, name)
	}
	if bytes.Contains(archive.Bytes(), []byte("sk-engine")) || strings.Contains(strings.Join(w.LeftOut, ""), "sk-engine") {
		t.Error("a secret was kept")
	}
	return w, names, result, err
}

const passes = "#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n"

// TestBwrapKept: what an attempt left is kept, and what cannot be is named.
func TestBwrapKept(t *testing.T) {
	bubblewrap(t)
	w, names, result, err := keeps(t, "bwrap", `mkdir -p a; echo 1 > a/file; ln -s /etc/passwd out; echo sk-engine-0123456789 > a/key; mkfifo fifo; `+
		`touch -d @1 a/file; echo log > /logs/agent/log; echo 1 > closed; chmod 0 closed`, map[string]string{"tests/test.sh": passes})
	if err != nil || *result.Reward != 1 || w.Runtime != "bwrap" || w.ImageDigest != "" || w.Digest == "" {
		t.Fatalf("%v %+v %+v", err, result, w)
	}
	if want := []string{"app/a", "app/a/file", "app/out", "logs/agent/log"}; !slices.Equal(names, want) {
		t.Errorf("kept were %q, not %q", names, want)
	}
	want := []string{"/app/a/key: it has the value of ENGINE_KEY", "/app/closed: cannot be read: permission denied", "/app/fifo: a named pipe"}
	if !slices.Equal(w.LeftOut, want) {
		t.Errorf("left out were %q, not %q", w.LeftOut, want)
	}
}

// TestKept is TestBwrapKept with what only a container has.
func TestKept(t *testing.T) {
	manyContainers(t)
	for name, c := range map[string]struct {
		script      string
		names, left []string
		config      string
	}{
		"nothing": {script: "true"},
		"changes": {script: "echo 1 > /new; rm -r /etc/network /usr/share/udhcpc 2>/dev/null; echo x >> /etc/passwd; touch -d @1 /new /etc/passwd",
			names: []string{"etc/passwd", "new"}},
		"again":       {script: "mkdir /opt2; cp -a /etc /opt2/e; rm -r /etc/ssl; mkdir /etc/ssl", names: nil},
		"memory":      {script: "echo 1 > /dev/shm/x", left: []string{"/dev/shm: what is in it (tmpfs) changed"}},
		"server":      {script: "(sleep 1000 </dev/null >/dev/null 2>&1 &)", left: []string{workspace.Running + "sleep"}},
		"lives":       {script: "(sleep 1000 </dev/null >/dev/null 2>&1 &)", left: []string{workspace.Running + "sleep"}, config: "\n[metadata]\nkeep_processes = true\n"},
		"no programs": {script: "/bin/busybox rm -rf /bin /usr/bin", names: []string{"-bin"}, left: []string{workspace.Running + "it is not known which"}},
		"closed": {script: "echo 1 > /closed; chmod 0 /closed; mknod /device c 1 3; chmod u+s /closed", names: []string{"closed"},
			left: []string{"/closed: its setuid or setgid bit", "/device: a device"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, names, _, err := keeps(t, "podman", c.script, map[string]string{"tests/test.sh": passes})
			t.Log(err, w, len(names), names[:min(len(names), 30)])
			if c.names != nil && !slices.Equal(names, c.names) {
				t.Errorf("kept were %q, not %q", names, c.names)
			}
			if !slices.Equal(w.LeftOut, c.left) {
				t.Errorf("left out were %q, not %q", w.LeftOut, c.left)
			}
		})
	}
}
