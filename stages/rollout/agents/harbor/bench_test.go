package harbor

import (
	"archive/tar"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/internal/containers"
	"github.com/rollmill/rollmill/stages/internal/containers/verifier"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// instant is a runtime whose commands take no time: a verifier leaves its reward at once.
type instant struct {
	mu    sync.Mutex
	boxes map[string]containers.Container
	tests string
}

func (*instant) Found(context.Context) (string, error)                       { return "", nil }
func (*instant) Image(context.Context, string, string) error                 { return nil }
func (*instant) Remove(context.Context, ...string) error                     { return nil }
func (*instant) Labelled(context.Context, string) (map[string]string, error) { return nil, nil }

func (*instant) Stop(context.Context, string) error  { return nil }
func (*instant) Again(context.Context, string) error { return nil }
func (*instant) Origin(context.Context, string) (w formats.Workspace, folders []string, err error) {
	return w, nil, nil
}
func (*instant) Changed(context.Context, string, containers.Changes) error { return nil }

func (i *instant) Start(_ context.Context, c containers.Container) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.boxes[c.Name] = c
	return nil
}

func (i *instant) CopyIn(_ context.Context, _, folder, _ string) error {
	i.tests = folder
	return nil
}

func (i *instant) CopyOut(_ context.Context, _, _ string, w io.Writer) error {
	archive := tar.NewWriter(w)
	if err := archive.AddFS(os.DirFS(filepath.Dir(i.tests))); err != nil {
		return err
	}
	return archive.Close()
}

func (i *instant) Exec(_ context.Context, name string, e containers.Exec) (int, error) {
	i.mu.Lock()
	c := i.boxes[name]
	i.mu.Unlock()
	for _, m := range c.Mounts {
		if m.To == "/logs/verifier" && strings.HasSuffix(e.Words[2], "test.sh") {
			return 0, os.WriteFile(m.From+"/reward.txt", []byte("1"), 0o666)
		}
	}
	return 0, nil
}

// BenchmarkAttempt measures what an attempt takes beside the runtime's commands and the
// model.
func BenchmarkAttempt(b *testing.B) {
	for _, harness := range []string{Shell, "true"} {
		b.Run(harness, func(b *testing.B) {
			s := Settings{Harness: harness, Runtime: "podman"}
			m, err := containers.Open(b.Context(), "command: true")
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close()
			m.Runtime = &instant{boxes: map[string]containers.Container{}}
			a := &agent{Tasks: verifier.Tasks{Machine: m}, config: s, client: silent{}, lookup: os.LookupEnv}
			e := example(b, a, root("tasks", "write-file"))
			for b.Loop() {
				result, err := a.Attempt(b.Context(), agents.Attempt{Example: e, TrajectoryID: "t", BaseURL: "http://127.0.0.1:1/t/t/v1"})
				if err != nil || *result.Reward != 1 {
					b.Fatal(err, result)
				}
			}
		})
	}
}

// silent is a model that has nothing to say.
type silent struct{}

func (silent) Chat(context.Context, *http.Client, string, string, string, []formats.Message, map[string]any) (formats.Message, error) {
	return formats.Message{Role: "assistant", Content: "done"}, nil
}
