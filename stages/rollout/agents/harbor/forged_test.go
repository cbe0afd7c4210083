package harbor

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// none are tests that give nothing, at once or after a while.
var none = map[string]string{"at once": "", "later": "; sleep 0.3"}

const always = "setsid sh -c 'while :; do %s; done' >/dev/null 2>&1 &"

// forgers are what an agent leaves running to write its own reward.
var forgers = map[string]string{
	"text":       fmt.Sprintf(always, "echo 1 > /logs/verifier/reward.txt"),
	"slow":       fmt.Sprintf(always, "sleep 0.05; echo 1 > /logs/verifier/reward.txt"),
	"json":       fmt.Sprintf(always, `echo {\"reward\": 1} > /logs/verifier/reward.json; sleep 0.01`),
	"deaf":       `setsid sh -c 'trap "" TERM HUP INT; while :; do echo 1 > /logs/verifier/reward.txt; sleep 0.01; done' >/dev/null 2>&1 &`,
	"held open":  `setsid sh -c 'exec 7>/logs/verifier/reward.txt; while :; do echo 1 >&7; sleep 0.01; done' >/dev/null 2>&1 &`,
	"own tests":  `printf '#!/bin/bash\necho 1 > /logs/verifier/reward.txt; cp -a /tests/tests/. /tests/\n' >/tmp/own; setsid sh -c 'while :; do [ -e /tests/test.sh ] || { mkdir -p /tests; cp /tmp/own /tests/test.sh; chmod +x /tests/test.sh; }; sleep .01; done' >/dev/null 2>&1 &`,
	"waits":      `setsid sh -c 'until [ -e /tests/test.sh ]; do sleep 0.01; done; while :; do echo 1 > /logs/verifier/reward.txt; done' >/dev/null 2>&1 &`,
	"hides":      `setsid sh -c 'while :; do echo 1 > /logs/verifier/reward.txt; sleep 0.01; done' >/dev/null 2>&1 & cp /bin/sh /bin/kept; printf '#!/bin/kept\n[ "$1" != -c ] || case $2 in */proc/*) exit 0 ;; esac\nexec /bin/kept "$@"\n' > /tmp/sh && chmod +x /tmp/sh && mv /tmp/sh /bin/sh;`,
	"forks away": `setsid sh -c 'f() { echo 1 > /logs/verifier/reward.txt; (setsid sh -c "$F" &); }; export F="while :; do echo 1 > /logs/verifier/reward.txt; sleep 0.01; done"; f' >/dev/null 2>&1 &`,
}

func TestForged(t *testing.T)      { manyContainers(t); forged(t, "podman") }
func TestBwrapForged(t *testing.T) { bubblewrap(t); forged(t, "bwrap") }

// forged: no process that the agent left writes the reward, in COUNT attempts of each kind.
func forged(t *testing.T, runtime string) {
	count := 1
	if n, err := strconv.Atoi(os.Getenv("COUNT")); err == nil {
		count = n
	}
	for name, forger := range forgers {
		for when, rest := range none {
			if count == 1 && when+name != "latertext" && when+name != "at oncewaits" && when+name != "at onceown tests" && when+name != "at oncehides" {
				continue
			}
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				dir := changed(t, runtime, map[string]string{"tests/test.sh": "#!/bin/bash\necho 0 > /logs/verifier/reward.txt" + rest + "\n"})
				a := on(t, runtime, nil)
				for range count {
					result, _, err := attempt(t, a, dir, says(forger+" sleep 0.2"))
					if result.Reward != nil && *result.Reward != 0 || err != nil && (class(err) != outcomes.FailVerifier || !strings.Contains(err.Error(), "processes running (")) {
						t.Errorf("%v: %+v", err, result.Rewards)
					}
					if name == "hides" && runtime == "podman" && (err != nil || result.Rewards["tampered"] != 1) {
						t.Errorf("a shell that hides: %v: %+v", err, result.Rewards)
					}
				}
			})
		}
	}
}

// servers are tasks whose answer is a program that runs, with what tests it.
var servers = map[string][2]string{
	"http": {"mkdir -p /app/www; echo hello > /app/www/index.html; httpd -p 127.0.0.1:8083 -h /app/www", "wget -qO- http://127.0.0.1:8083/index.html | grep -q hello"},
	"beat": {"setsid sh -c 'while :; do date +%s%N > /app/next; mv /app/next /app/beat; sleep 0.02; done' >/dev/null 2>&1 &", "rm -f /app/beat; for i in {1..30}; do [ -s /app/beat ] || sleep 0.1; done; [ -s /app/beat ]"},
}

// TestServers: with the key, of the task or of the rollout, the tests find the program, and
// the row says that processes were left; without it, the failure names the program.
func TestServers(t *testing.T) {
	manyContainers(t)
	for name, s := range servers {
		for key, want := range map[string]string{"": "--keep-processes", map[string]string{"http": "flag", "beat": "task"}[name]: ""} {
			t.Run(name+" "+key, func(t *testing.T) {
				t.Parallel()
				files := map[string]string{"tests/test.sh": "#!/bin/bash\n" + s[1] + "; echo $((1 - $?)) > /logs/verifier/reward.txt\n"}
				if key == "task" {
					files["task.toml"] = "[metadata]\nkeep_processes = true\n"
				}
				a := on(t, "podman", func(s *Settings) { s.KeepProcesses = key == "flag" })
				result, _, err := attempt(t, a, changed(t, "podman", files), says(s[0]))
				wrong(t, result, err, want, map[string]float64{"reward": 1, "processes_left": 1, "tampered": 0})
			})
		}
	}
}

// TestBwrapServers: a program of bwrap ends with what left it, and the failure says so.
func TestBwrapServers(t *testing.T) {
	bubblewrap(t)
	dir := changed(t, "bwrap", map[string]string{"tests/test.sh": "#!/bin/bash\n" + servers["beat"][1] + "; echo $((1 - $?)) > /logs/verifier/reward.txt\n"})
	result, _, err := attempt(t, on(t, "bwrap", nil), dir, says(servers["beat"][0]))
	wrong(t, result, err, "processes running (", nil)
	result, _, err = attempt(t, on(t, "bwrap", func(s *Settings) { s.KeepProcesses = true }), dir, says(servers["beat"][0]))
	wrong(t, result, err, "use podman or docker", nil)
}

// wrong says where an attempt's end is not what is wanted.
func wrong(t *testing.T, result agents.Result, err error, says string, rewards map[string]float64) {
	t.Helper()
	if says != "" && (err == nil || !strings.Contains(err.Error(), says)) || says == "" && err != nil {
		t.Errorf("%v: %+v", err, result.Rewards)
	}
	if says == "" && !maps.Equal(result.Rewards, rewards) {
		t.Errorf("%v, not %v", result.Rewards, rewards)
	}
}

// TestTampered: programs on the tests' path that are not the image's are counted.
func TestTampered(t *testing.T) {
	manyContainers(t)
	for name, c := range map[string]struct {
		work string
		want float64
	}{
		"shell": {`cp /bin/bash /bin/kept; printf '#!/bin/kept\necho 1 > /logs/verifier/reward.txt\nexec /bin/kept "$@"\n' > /tmp/b; chmod +x /tmp/b; mv /tmp/b /bin/bash`, 1},
		"others": {"rm /bin/wget; mkdir -p /usr/local/bin /etc/profile.d /usr/lib/python3/dist-packages; cp /bin/bash /usr/local/bin/bash; echo > /etc/ld.so.preload; " +
			"echo export LD_PRELOAD=/tmp/x.so > /etc/profile.d/x.sh; cd /tmp; d=\"x\nA \"; mkdir -p \"$d/etc/ld.so.preload/__pycache__\"; " +
			"echo > /usr/lib/python3/dist-packages/sitecustomize.py; echo > /usr/lib/python3/dist-packages/x.pth; echo > /app/conftest.py", 8},
		"honest": {"mkdir -p /usr/lib/own /srv /app/lib; echo > /usr/lib/own/lib.so; echo > /srv/x; echo > /app/lib/main.py; echo > /usr/local/x; mkdir -p /app/bin; echo > /app/bin/run", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := changed(t, "podman", map[string]string{"tests/test.sh": "#!/bin/bash\ngrep -q x /etc/passwd; echo 0 > /logs/verifier/reward.txt\n"})
			result, _, err := attempt(t, on(t, "podman", nil), dir, says(c.work))
			wrong(t, result, err, "", map[string]float64{"reward": 0, "tampered": c.want})
		})
	}
}

// TestBwrapTampered: hooks in the container's own folders are counted; the machine's
// programs cannot be changed.
func TestBwrapTampered(t *testing.T) {
	bubblewrap(t)
	dir := changed(t, "bwrap", map[string]string{"tests/test.sh": "#!/bin/bash\necho 0 > /logs/verifier/reward.txt\n"})
	work := "echo > /root/.bashrc; mkdir -p /root/.local/lib/python3.11/site-packages; echo > /root/.local/lib/python3.11/site-packages/a.pth; " +
		"echo > conftest.py; echo > /tmp/x; ! echo > /bin/bash && ! mkdir /usr/local/x || echo > /root/.profile"
	result, _, err := attempt(t, on(t, "bwrap", nil), dir, says(work))
	wrong(t, result, err, "", map[string]float64{"reward": 0, "tampered": 3})
}
