package main

import (
	"cmp"
	"runtime/debug"
	"strings"

	"github.com/rollmill/rollmill/formats/schema"
)

// The linker sets these in builds by the Makefile: see BUILD there. They are
// empty in what `go install` builds.
var (
	releaseVersion string
	releaseCommit  string
	releaseDate    string // of the commit
)

// version returns what --version prints: the version, the commit, the commit's
// date and the schema of the datasets that the program writes.
func version() string {
	info, _ := debug.ReadBuildInfo()
	parts := append(buildOf(info), "dataset schema "+schema.Version)
	return strings.Join(parts, ", ")
}

// buildOf returns what is known of the build: from the linker, else from info, which may be nil.
func buildOf(info *debug.BuildInfo) []string {
	version, commit, date := releaseVersion, releaseCommit, releaseDate
	if version == "" && info != nil {
		version, commit, date = info.Main.Version, "", ""
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				commit = s.Value
			case "vcs.time":
				date = s.Value
			}
		}
	}
	parts := []string{cmp.Or(version, "(unknown)")}
	if commit != "" {
		parts = append(parts, "commit "+commit[:min(12, len(commit))])
	}
	if date != "" {
		parts = append(parts, date[:min(len("2006-01-02"), len(date))])
	}
	return parts
}
