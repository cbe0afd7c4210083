package harbor

import (
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rollmill/rollmill/storage/fault"
)

// config is task.toml.
type config struct {
	SchemaVersion string         `toml:"schema_version"`
	Version       string         `toml:"version"` // the old name
	Source        string         `toml:"source"`
	Task          described      `toml:"task"`
	Metadata      map[string]any `toml:"metadata"`
	Agent         phase          `toml:"agent"`
	Verifier      phase          `toml:"verifier"`
	Environment   environment    `toml:"environment"`
	Solution      struct {
		Env map[string]string `toml:"env"`
	} `toml:"solution"`
	Artifacts []artifact `toml:"artifacts"`
	Steps     []any      `toml:"steps"`
}

type described struct {
	Name        string `toml:"name"`
	Version     string `toml:"version"`
	Description string `toml:"description"`
	Authors     []any  `toml:"authors"`
	Keywords    []any  `toml:"keywords"`
}

type phase struct {
	Timeout      float64           `toml:"timeout_sec"`
	User         any               `toml:"user"`
	Env          map[string]string `toml:"env"`
	NetworkMode  string            `toml:"network_mode"`
	AllowedHosts []string          `toml:"allowed_hosts"`

	// The verifier's alone.
	EnvironmentMode string         `toml:"environment_mode"`
	Environment     map[string]any `toml:"environment"`
	Collect         []any          `toml:"collect"`
}

type environment struct {
	BuildTimeout  float64           `toml:"build_timeout_sec"`
	Image         string            `toml:"docker_image"`
	OS            string            `toml:"os"`
	CPUs          float64           `toml:"cpus"`
	MemoryMB      int64             `toml:"memory_mb"`
	StorageMB     int64             `toml:"storage_mb"`
	Memory        string            `toml:"memory"`  // the old names
	Storage       string            `toml:"storage"` //
	AllowInternet *bool             `toml:"allow_internet"`
	GPUs          int               `toml:"gpus"`
	GPUTypes      []string          `toml:"gpu_types"`
	TPU           map[string]any    `toml:"tpu"`
	Env           map[string]string `toml:"env"`
	Workdir       string            `toml:"workdir"`
	NetworkMode   string            `toml:"network_mode"`
	AllowedHosts  []string          `toml:"allowed_hosts"`
	MCPServers    []any             `toml:"mcp_servers"`
	SkillsDir     string            `toml:"skills_dir"`
	Healthcheck   map[string]any    `toml:"healthcheck"`
}

// artifact is a path, or a table with it.
type artifact struct{ Source string }

// UnmarshalTOML reads both forms.
func (a *artifact) UnmarshalTOML(v any) error {
	switch v := v.(type) {
	case string:
		a.Source = v
	case map[string]any:
		a.Source, _ = v["source"].(string)
	}
	if a.Source == "" || strings.Contains("/"+a.Source+"/", "/../") {
		return fmt.Errorf("artifact %v is not a path in the container", v)
	}
	return nil
}

const noNetwork, publicNetwork = "no-network", "public"

// refuse names the first thing that a task needs and that is not supported.
func (c *config) refuse(dir, file string) error {
	has := func(names ...string) bool {
		_, err := os.Lstat(filepath.Join(append([]string{dir}, names...)...))
		return err == nil
	}
	e, v := c.Environment, c.Verifier
	for _, r := range []struct {
		needs bool
		what  string
	}{
		{len(c.Steps) > 0 || has("steps"), "several steps"},
		{has("environment", "docker-compose.yaml") || has("environment", "docker-compose.yml"), "a compose file"},
		{e.GPUs > 0 || len(e.GPUTypes) > 0, "a GPU"},
		{len(e.TPU) > 0, "a TPU"},
		{len(e.AllowedHosts)+len(c.Agent.AllowedHosts)+len(v.AllowedHosts) > 0, "a list of allowed hosts (allowed_hosts)"},
		{unlike(c.Agent.NetworkMode, e.NetworkMode) || unlike(v.NetworkMode, e.NetworkMode),
			"another network for the agent or the verifier"},
		{v.EnvironmentMode == "separate" || len(v.Environment) > 0, "a verifier in an environment of its own"},
		{len(v.Collect) > 0, "commands in other services (verifier.collect)"},
		{e.OS != "" && !strings.EqualFold(e.OS, "linux"), "the system " + e.OS},
		{len(e.MCPServers) > 0, "MCP servers (environment.mcp_servers)"},
		{e.SkillsDir != "", "skills (environment.skills_dir)"},
		{len(e.Healthcheck) > 0, "a health check (environment.healthcheck)"},
		{has(".harborignore") || has("tests", ".harborignore"), "a file .harborignore"},
		{has("trajectory.json"), "a conversation to begin with (trajectory.json)"},
		{!isUser(c.Agent.User) || !isUser(v.User), "a user that is neither a name nor a number"},
	} {
		if r.needs {
			return fault.Invalid(file,
				"leave the task out, or run it with Harbor and `rollmill import` its results", nil,
				"the task needs %s, which rollmill does not run", r.what)
		}
	}
	for key, timeout := range map[string]float64{"agent.timeout_sec": c.Agent.Timeout, "verifier.timeout_sec": v.Timeout,
		"environment.build_timeout_sec": e.BuildTimeout} {
		if !(timeout >= 0) {
			return fault.Invalid(file, "write seconds; 0 is no limit", nil, "%s is %v", key, timeout)
		}
	}
	if !has("tests", TestScript) {
		return fault.Invalid(filepath.Join(dir, "tests", TestScript), "it writes the reward", nil,
			"the task has no tests")
	}
	return nil
}

// unlike reports whether a phase asks for another network than its container's.
func unlike(phase, container string) bool {
	return phase != "" && phase != container && (phase != publicNetwork || container != "")
}

func isUser(user any) bool {
	_, name := user.(string)
	id, number := user.(int64)
	return user == nil || name || number && id >= 0
}

func (p phase) phase() Phase {
	out := Phase{Timeout: seconds(p.Timeout), Env: p.Env}
	switch user := p.User.(type) {
	case string:
		out.User = user
	case int64:
		out.User = strconv.FormatInt(user, 10)
	}
	return out
}

func seconds(s float64) time.Duration {
	return time.Duration(min(max(s, 0), math.MaxInt32) * float64(time.Second))
}

func (e environment) read(file string) (out Environment, err error) {
	out = Environment{Image: e.Image, BuildTimeout: seconds(e.BuildTimeout), CPUs: e.CPUs, MemoryMB: e.MemoryMB,
		StorageMB: e.StorageMB, Env: e.Env, Workdir: e.Workdir}
	bad := func(key string, value any) (Environment, error) {
		return out, fault.Invalid(file, "", nil, "environment.%s is %v", key, value)
	}
	for _, size := range []struct {
		old, key string
		into     *int64
	}{{e.Memory, "memory", &out.MemoryMB}, {e.Storage, "storage", &out.StorageMB}} {
		if mb, ok := megabytes(size.old); !ok || size.old != "" && *size.into != 0 && *size.into != mb {
			return bad(size.key, size.old)
		} else if size.old != "" {
			*size.into = mb
		}
	}
	switch e.NetworkMode {
	case "":
		out.NoNetwork = e.AllowInternet != nil && !*e.AllowInternet
		out.Network = e.AllowInternet != nil && *e.AllowInternet
	case noNetwork, publicNetwork:
		out.NoNetwork, out.Network = e.NetworkMode == noNetwork, e.NetworkMode == publicNetwork
	default:
		return bad("network_mode", e.NetworkMode)
	}
	switch {
	case math.IsNaN(e.CPUs) || e.CPUs < 0 || math.IsInf(e.CPUs, 0):
		return bad("cpus", e.CPUs)
	case min(out.MemoryMB, out.StorageMB) < 0 || max(out.MemoryMB, out.StorageMB) > 1<<40:
		return bad("memory_mb or storage_mb", "negative, or more than a machine has")
	case e.Workdir != "" && !path.IsAbs(e.Workdir):
		return bad("workdir", e.Workdir)
	}
	return out, nil
}

// megabytes reads a size as old tasks write it: 2G, 512M, 100K.
func megabytes(text string) (int64, bool) {
	text = strings.ToUpper(strings.TrimSpace(text))
	if text == "" {
		return 0, true
	}
	scale := map[byte]float64{'G': 1024, 'M': 1, 'K': 1. / 1024}[text[len(text)-1]]
	n, err := strconv.ParseFloat(text[:len(text)-1], 64)
	return int64(n * scale), err == nil && scale > 0 && n >= 0 && n < 1<<30
}
