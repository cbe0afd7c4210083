package systemtest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
)

// viewed is a `rollmill view` in its own process, with a browser that opened its link.
type viewed struct {
	t      *testing.T
	cmd    *exec.Cmd
	base   string
	client *http.Client
}

func startView(t *testing.T, args ...string) *viewed {
	t.Helper()
	cmd := exec.Command("rollmill", append([]string{"view", "--json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var printed struct{ URL string }
	if err := json.Unmarshal(line, &printed); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	base, query, _ := strings.Cut(printed.URL, "/?")
	v := &viewed{t, cmd, base, &http.Client{Jar: jar}}
	v.page("/?" + query)
	return v
}

// page returns a page that must be there.
func (v *viewed) page(path string) string {
	v.t.Helper()
	answer, err := v.client.Get(v.base + path)
	if err != nil {
		v.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		v.t.Fatalf("%s: %d, %v\n%s", path, answer.StatusCode, err, data)
	}
	return string(data)
}

// has checks that a page has texts, and returns the page.
func (v *viewed) has(path string, texts ...string) string {
	v.t.Helper()
	page := v.page(path)
	for _, text := range texts {
		if !strings.Contains(page, text) {
			v.t.Errorf("%s has no %q:\n%s", path, text, page)
		}
	}
	return page
}

// TestViewShowsARun trains two epochs with the sandbox and follows the links of the run's
// pages. Without a report the pages have the same means, without bands.
func TestViewShowsARun(t *testing.T) {
	url, tasks := newEngine(t, "project/name")
	root := filepath.Join(t.TempDir(), "train")
	code, _, stderr := rollmill(t, "train", "--root", root, "--epochs", "2", "--validation-interval", "1", "--validation-examples", tasks,
		"--set", "rollout.examples="+tasks, "--set", "rollout.generations=4", "--set", "score.reward=n=expr:generation", "--set",
		"score.reward=half*0.5=expr:0.5",
		"--set", "validation.reward=n=expr:generation", "--set", "submit.backend=art", "--set", "submit.url="+url, "--set", "submit.target=project/name")
	if code != 0 {
		t.Fatal(stderr)
	}
	v := startView(t, root)
	run := v.has("/", "1.7500", "±", `<td class="words">half, training</td>`, `<td class="words">n, validation</td>`, " calls", `<source srcset="data:image/svg`, `href="/e/0"`, "completed",
		"No failed trajectories")
	if strings.Contains(run, "rollmill report") || strings.Contains(run, "Bands are") {
		t.Error("the page asks for a report that is there, or explains bands of no width")
	}
	epoch := v.has("/e/0", "<h3>Best</h3>", "<h3>Worst</h3>", "<h3>Most uncertain</h3>", "a@0", "1.7500", "±", "Submission", "completed", `rel="next"`,
		"Why trajectories ended", "done")
	v.has("/e/1", `rel="prev"`)
	v.follow(run)
	v.follow(epoch)
	if err := os.Remove(filepath.Join(root, "report.json")); err != nil {
		t.Fatal(err)
	}
	v = startView(t, root)
	if page := v.has("/", "1.7500", "1.5000", "rollmill report"); strings.Contains(page, "±") {
		t.Error("bands without a report")
	}
	one := startView(t, filepath.Join(root, "epoch-1"))
	one.has("/", `href="/e/1"`)
	one.has("/e/1", "<h3>Best</h3>", `href="/d/group"`)
	startView(t, filepath.Join(root, "epoch-1", "score")).has("/d/-", "8 rows of scores")
	if err := v.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Wait(); err != nil {
		t.Errorf("interrupted: %v", err)
	}
}

// TestViewShowsATraceback shows what a failed agent's program and a failed reward said.
func TestViewShowsATraceback(t *testing.T) {
	url, tasks := newEngine(t, "project/name")
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"agent.py": "def inner():\n    raise KeyError('exmaple')\ninner()\n",
		"reward.py": `import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "reward": None, "error": "bad", "traceback": "all of <it>"}), flush=True)
`} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sample := func(out, agent string) *formats.Trajectory {
		rollmill(t, "rollout", "--examples", tasks, "--url", url+"/v1", "--model", "project/name", "--agent", agent, "--out", out,
			"--max-failure-rate", "1")
		_, rows := trajectoriesAt(t, out)
		return &rows[0]
	}
	failed := sample("failed", "command: python3 agent.py")
	startView(t, "failed").has("/d/-/t/"+failed.TrajectoryID, "KeyError: &#39;exmaple&#39; (", "line 2, in inner", "<summary>traceback</summary>",
		"line 3, in &lt;module&gt;")
	said := sample("said", "chat")
	if code, _, stderr := rollmill(t, "score", "--in", "said", "--reward", "x=command:python3 reward.py", "--max-failure-rate", "1"); code != 0 {
		t.Fatal(stderr)
	}
	startView(t, "score").has("/d/-/t/"+said.TrajectoryID, "<summary>traceback</summary>", "all of &lt;it&gt;")
}

var viewLink = regexp.MustCompile(`href="(/(?:e|d)/[^"/]*)"`)

// follow opens the datasets and the epochs to which a page leads.
func (v *viewed) follow(page string) {
	v.t.Helper()
	links := viewLink.FindAllStringSubmatch(page, -1)
	if len(links) < 4 {
		v.t.Errorf("%d links", len(links))
	}
	for _, l := range links {
		v.page(l[1])
	}
}

func TestViewRefusesWhatItCannotServe(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{}, 2, "no run"},
		{[]string{t.TempDir()}, 4, "no dataset"},
	} {
		if code, _, stderr := rollmill(t, append([]string{"view"}, c.args...)...); code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%q: %d, %s", c.args, code, stderr)
		}
	}
	dir := t.TempDir()
	url, tasks := newEngine(t)
	out := filepath.Join(dir, "epoch-0", "rollout")
	if code, _, stderr := rollmill(t, "rollout", "--examples", tasks, "--url", url+"/v1", "--model", "rollmill/sandbox", "--out", out); code != 0 {
		t.Fatal(stderr)
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "nonsense"} {
		if code, stdout, stderr := rollmill(t, "view", dir, "--listen", address); code != 2 || stdout != "" || !strings.Contains(stderr, "127.0.0.1:0") {
			t.Errorf("--listen %q: %d, %s", address, code, stderr)
		}
	}
}
