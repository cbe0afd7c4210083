package submit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
)

// TestKilledAnywhereAJobIsMadeAtMostOnce kills the sender at every step, for
// the backends that can tell by the submission's token what became of it: no
// person is ever needed.
func TestKilledAnywhereAJobIsMadeAtMostOnce(t *testing.T) {
	for backend, fresh := range map[string]func(t *testing.T) (order, func() int){"openai": fineTuning, "command": program, "file": files,
		"customizer": customizing(customizertest.Faults{})} {
		o, jobs := fresh(t)
		o.Wait = true
		calm := run(t, o)
		if calm.State != receipts.JobCompleted || calm.Ops < 6 || jobs() != 1 {
			t.Fatalf("%s: %+v, %d jobs", backend, calm, jobs())
		}
		points := []string{"submit", "begin", "group 1", "group 3", "sent 3"} // the first is in each sample
		if backend != "file" {                                                // which has no reference before the end
			points = append(points, "event")
		}
		for n := range calm.Ops {
			points = append(points, fmt.Sprintf("before %d", n+1), fmt.Sprintf("after %d", n+1))
		}
		for _, point := range sampled(points) {
			t.Run(backend+"/"+strings.ReplaceAll(point, " ", "-"), func(t *testing.T) {
				t.Parallel()
				o, jobs := fresh(t)
				o.Wait = true
				doomed := o
				doomed.Kill = point
				if a := run(t, doomed); !a.killed {
					t.Fatalf("it lived: %+v", a)
				}
				var a answer
				for range 5 {
					if a = run(t, o); a.State != "" {
						break
					}
				}
				if a.State != receipts.JobCompleted || a.Err != "" || jobs() != 1 {
					t.Errorf("%+v, %d jobs", a, jobs())
				}
				if again := run(t, o); again.State != a.State || jobs() != 1 {
					t.Errorf("%+v, %d jobs", again, jobs())
				}
			})
		}
	}
}

func fineTuning(t *testing.T) (order, func() int) {
	_, o := place(t, arttest.Faults{})
	server := openaitest.New(openaitest.Faults{})
	t.Cleanup(server.Close)
	o.URL = server.URL
	return o, func() int { return len(server.Jobs()) }
}

// trainer keeps a job as a folder named after the submission: making it is the
// one step that counts, since the program lives on when its sender is killed.
const trainer = `read request
token=$(echo "$request" | sed 's/.*"\(token\|job\)":"\([^"]*\)".*/\2/')
case "$request" in
*'"request":"begin"'*) ;;
*'"request":"submit"'*)
  mkdir "$1/$token" 2>/dev/null
  echo '{"job":"'$token'","state":"running"}' ;;
*) if [ -d "$1/$token" ]; then echo '{"state":"completed","job":"'$token'"}'; else echo '{"state":"failed","clean":true,"message":"no such job"}'; fi ;;
esac
`

func program(t *testing.T) (order, func() int) {
	_, o := place(t, arttest.Faults{})
	dir := t.TempDir()
	script := filepath.Join(t.TempDir(), "trainer.sh")
	if err := os.WriteFile(script, []byte(trainer), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Words = []string{"sh", script, dir}
	return o, func() int {
		made, _ := os.ReadDir(dir)
		return len(made)
	}
}
