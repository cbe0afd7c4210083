package harbor

import (
	"cmp"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/BurntSushi/toml"

	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/regular"
)

// Task is a task folder.
type Task struct {
	Dir         string // local, from the root
	Name        string // [task] name, else the folder's
	Instruction string // without leading canary lines
	Digest      string // of the folder's files, see digest
	Metadata    map[string]any
	Ignored     []string // keys of task.toml that mean nothing here

	Agent       Phase
	Verifier    Phase
	Environment Environment
	Solution    map[string]string // variables of solution/solve.sh
	Artifacts   []string          // paths in the container to keep

	KeepProcesses bool // keep_processes of its metadata: its answer is a program that runs on
}

// Phase is how one of the programs in the container runs.
type Phase struct {
	Timeout time.Duration     // 0: no limit
	User    string            // "": the image's
	Env     map[string]string // values may be ${NAME} or ${NAME:-DEFAULT} of this machine
}

// Environment is the container.
type Environment struct {
	Image        string // ""; build Dockerfile
	BuildTimeout time.Duration
	CPUs         float64 // 0: no limit
	MemoryMB     int64   // 0: no limit
	StorageMB    int64   // 0: no limit
	Env          map[string]string
	Workdir      string // "": the image's
	NoNetwork    bool
	Network      bool // it says that it may use one
}

const maxText = 16 << 20 // bytes of task.toml, and of the instruction

// The times of Harbor for tasks that name none.
const (
	defaultBuild  = 600
	defaultVerify = 600
)

// Read reads the task in a local folder. Its error is a fault.Error that
// names the file and, where the task needs what is not supported, the key.
func Read(dir string) (Task, error) {
	file := filepath.Join(dir, "task.toml")
	text, err := regular.ReadFile(file, maxText)
	if err != nil {
		return Task{}, fault.Invalid(file, "a task's folder has task.toml, instruction.md, environment and tests", err,
			"no task")
	}
	c := config{Environment: environment{BuildTimeout: defaultBuild}, Verifier: phase{Timeout: defaultVerify}}
	seen, err := toml.Decode(string(text), &c)
	if err != nil {
		return Task{}, fault.Invalid(file, "", err, "not the TOML of a task")
	}
	if err := c.refuse(dir, file); err != nil {
		return Task{}, err
	}
	t := Task{Dir: dir, Name: cmp.Or(c.Task.Name, filepath.Base(dir)), Metadata: c.Metadata, Solution: c.Solution.Env,
		Agent: c.Agent.phase(), Verifier: c.Verifier.phase()}
	if t.Environment, err = c.Environment.read(file); err != nil {
		return Task{}, err
	}
	if keep, given := c.Metadata["keep_processes"]; given {
		if t.KeepProcesses, given = keep.(bool); !given {
			return Task{}, fault.Invalid(file, "write true or false", nil, "metadata.keep_processes is %v", keep)
		}
	}
	for _, a := range c.Artifacts {
		t.Artifacts = append(t.Artifacts, a.Source)
	}
	for _, key := range seen.Undecoded() {
		t.Ignored = append(t.Ignored, key.String())
	}
	if t.Instruction, err = instruction(dir); err != nil {
		return Task{}, err
	}
	if t.Digest, err = digest(dir); err != nil {
		return Task{}, err
	}
	if t.Dir, err = filepath.Abs(dir); err != nil { // a folder -x is an option to a program, and a:b a container
		return Task{}, err
	}
	return t, t.checkStrings(file)
}

// TestScript is the program that judges, in the folder tests.
const TestScript = "test.sh"

// canary is a line that marks a benchmark's text; agents do not see it.
var canary = regexp.MustCompile(`(?i)^(<!--.*canary.*-->|#.*canary.*)$`)

func instruction(dir string) (string, error) {
	file := filepath.Join(dir, "instruction.md")
	text, err := regular.ReadFile(file, maxText)
	if err != nil {
		return "", fault.Invalid(file, "it is what the agent is asked to do", err, "no instruction")
	}
	lines := strings.Split(string(text), "\n")
	for len(lines) > 0 && canary.MatchString(strings.TrimSpace(lines[0])) {
		lines = lines[1:]
	}
	asked := strings.TrimSpace(strings.ToValidUTF8(strings.Join(lines, "\n"), "\uFFFD"))
	if asked == "" {
		return "", fault.Invalid(file, "it is what the agent is asked to do", nil, "the instruction is empty")
	}
	return asked, nil
}

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	userName     = regexp.MustCompile(`^[A-Za-z0-9_][\w.-]*(:[A-Za-z0-9_][\w.-]*)?$`)
	imageName    = regexp.MustCompile(`^([\w.-]+(:\d+)?/)?[a-z0-9][\w.-]*(/[a-z0-9][\w.-]*)*(:\w[\w.-]*)?(@[a-z0-9]+:[0-9a-f]+)?$`)
	// transports are what Podman takes for a place of this machine before a colon.
	transports = []string{"containers-storage", "dir", "docker-archive", "docker-daemon", "oci", "oci-archive",
		"ostree", "sif", "tarball"}
)

// checkStrings refuses what a program of this machine could take for something else: an
// option, another line of a file, a path out of the container.
func (t Task) checkStrings(file string) error {
	bad := func(key, value, wanted string) error {
		return fault.Invalid(file, "it must be "+wanted, nil, "%s is %q", key, value)
	}
	before, _, _ := strings.Cut(t.Environment.Image, ":")
	switch e := t.Environment; {
	case strings.ContainsFunc(t.Name, unicode.IsControl):
		return bad("task.name", t.Name, "of one line")
	case e.Image != "" && (!imageName.MatchString(e.Image) || strings.HasPrefix(e.Image, "-") || slices.Contains(transports, before)):
		return bad("environment.docker_image", e.Image, "the name of an image in a registry, such as docker.io/library/debian:13")
	case e.Workdir != "" && (e.Workdir != path.Clean(e.Workdir) || strings.ContainsFunc(e.Workdir, unicode.IsControl)):
		return bad("environment.workdir", e.Workdir, "a path from /, without .. and without a / at its end")
	}
	for _, phase := range t.Phases() {
		if phase.User != "" && !userName.MatchString(phase.User) {
			return bad(phase.Key+".user", phase.User, "a name or a number, or two of them with a colon")
		}
		for _, name := range slices.Sorted(maps.Keys(phase.Env)) {
			if !variableName.MatchString(name) {
				return bad("a variable in "+phase.Key+".env", name, "of letters, digits and _")
			}
			if strings.Contains(phase.Env[name], "\x00") {
				return bad(phase.Key+".env."+name, phase.Env[name], "without the character NUL")
			}
		}
	}
	return nil
}

// NamedPhase is a phase with its key in task.toml.
type NamedPhase struct {
	Key string
	Phase
}

// Phases returns who has variables of their own, in the order in which they run.
func (t Task) Phases() []NamedPhase {
	return []NamedPhase{{"environment", Phase{Env: t.Environment.Env}}, {"agent", t.Agent}, {"solution",
		Phase{Env: t.Solution}}, {"verifier", t.Verifier}}
}

// Template reads a value of the form ${NAME} or ${NAME:-DEFAULT}, which stands for a
// variable of this machine.
func Template(value string) (name, otherwise string, has, is bool) {
	inner, opens := strings.CutPrefix(value, "${")
	inner, closes := strings.CutSuffix(inner, "}")
	name, otherwise, has = strings.Cut(inner, ":-")
	return name, otherwise, has, opens && closes
}
