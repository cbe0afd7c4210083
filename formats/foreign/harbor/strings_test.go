package harbor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStrings: what a program of this machine could take for something else is refused,
// and the message names its key; what tasks have is not.
func TestStrings(t *testing.T) {
	for text, key := range map[string]string{
		"[environment]\ndocker_image = \"--privileged\"":                                                "environment.docker_image",
		"[environment]\ndocker_image = \"--volume=/:/host\"":                                            "environment.docker_image",
		"[environment]\ndocker_image = \"dir:/etc\"":                                                    "environment.docker_image",
		"[environment]\ndocker_image = \"oci-archive:secret\"":                                          "environment.docker_image",
		"[environment]\ndocker_image = \"docker://host/x\"":                                             "environment.docker_image",
		"[environment]\ndocker_image = \"a b\"":                                                         "environment.docker_image",
		"[environment]\ndocker_image = \"/etc\"":                                                        "environment.docker_image",
		"[environment]\nworkdir = \"/../../x\"":                                                         "environment.workdir",
		"[environment]\nworkdir = \"/a/../../x\"":                                                       "environment.workdir",
		"[environment]\nworkdir = \"/a\\n/x\"":                                                          "environment.workdir",
		"[environment]\nworkdir = \"a\"":                                                                "environment.workdir",
		"[environment]\nenv = {\"A=B\" = \"c\"}":                                                        "environment.env",
		"[environment]\nenv = {\"\" = \"c\"}":                                                           "environment.env",
		"[agent]\nenv = {\"BASH_FUNC_rm%%\" = \"() { :; }\"}":                                           "agent.env",
		"[verifier]\nenv = {\"A\\nB\" = \"c\"}":                                                         "verifier.env",
		"[solution]\nenv = {\"-x\" = \"c\"}":                                                            "solution.env",
		"[verifier]\nenv = {A = \"x\\u0000--bind\\u0000/\\u0000/x\"}":                                   "verifier.env.A",
		"[agent]\nuser = \"--privileged\"":                                                              "agent.user",
		"[verifier]\nuser = \"a b\"":                                                                    "verifier.user",
		"[verifier]\nuser = true":                                                                       "neither a name nor a number",
		"[agent]\nuser = -1":                                                                            "neither a name nor a number",
		"[agent]\ntimeout_sec = -1.0":                                                                   "agent.timeout_sec",
		"[verifier]\ntimeout_sec = nan":                                                                 "verifier.timeout_sec",
		"[environment]\nbuild_timeout_sec = -inf":                                                       "environment.build_timeout_sec",
		"[environment]\nstorage_mb = 9000000000000000":                                                  "storage_mb",
		"[task]\nname = \"a\\nOPENAI_API_KEY\"":                                                         "task.name",
		"artifacts = [\"/a/../../etc/shadow\"]":                                                         "artifact",
		"[environment]\ndocker_image = \"docker.io/library/debian:13\"":                                 "",
		"[environment]\ndocker_image = \"localhost:5000/a/b_c@sha256:" + strings.Repeat("0", 64) + "\"": "",
		"[environment]\ndocker_image = \"docker:24-dind\"":                                              "",
		"[environment]\ndocker_image = \"debian\"\nworkdir = \"/work\"":                                 "",
		"[agent]\nuser = 1000\n[verifier]\nuser = \"root:0\"":                                           "",
		"[agent]\nenv = {_A1 = \"b=c\\nd\"}":                                                            "",
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"task.toml": text, "instruction.md": "Work.", "tests/test.sh": "true"} {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Read(dir); (err == nil) != (key == "") || err != nil && !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestFolders: the folder of a task is no option of a program, and no path in a container.
func TestFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"--volume=/etc:/x", "a:b"} {
		for name, text := range map[string]string{"task.toml": "", "instruction.md": "Work.", "tests/test.sh": "true"} {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	found, err := Find(".")
	if err != nil || len(found) != 2 {
		t.Fatal(err, found)
	}
	for _, dir := range found {
		if task, err := Read(dir); err != nil || !strings.HasPrefix(task.TestsDir(), "/") {
			t.Errorf("%v: %s", err, task.TestsDir())
		}
	}
}
