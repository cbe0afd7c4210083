package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	installed := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}
	cloned := &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}, {Key: "vcs.time", Value: "2026-11-22T12:26:51Z"},
	}}
	for _, c := range []struct {
		name   string
		linked [3]string
		info   *debug.BuildInfo
		want   string
	}{
		{"no build info", [3]string{}, nil, "(unknown)"},
		{"go install", [3]string{}, installed, "v1.2.3"},
		{"go build in a clone", [3]string{}, cloned, "(devel), commit 0123456789ab, 2026-11-22"},
		{"make build", [3]string{"v2.0.0", "fedcba987654", "2027-01-02"}, cloned, "v2.0.0, commit fedcba987654, 2027-01-02"},
		{"make build without git", [3]string{}, &debug.BuildInfo{}, "(unknown)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func(v, h, d string) { releaseVersion, releaseCommit, releaseDate = v, h, d }(releaseVersion, releaseCommit, releaseDate)
			releaseVersion, releaseCommit, releaseDate = c.linked[0], c.linked[1], c.linked[2]
			if got := strings.Join(buildOf(c.info), ", "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
