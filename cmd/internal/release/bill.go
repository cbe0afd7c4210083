package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// billOf returns the software bill of materials of a binary: the modules and the Go
// version that its build information names, and the scripts that its pages embed.
func billOf(binary, version string, at time.Time) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	parts := []cyclonedx.Component{component("std", strings.TrimPrefix(info.GoVersion, "go"), "")}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, component(m.Path, m.Version, m.Sum))
	}
	scripts, err := embedded()
	if err != nil {
		return nil, err
	}
	parts = append(parts, scripts...)

	self := component(info.Main.Path, version, "")
	self.Type = cyclonedx.ComponentTypeApplication
	self.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	self.Licenses = &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}}
	self.Properties = settings(info)

	bom := cyclonedx.NewBOM()
	bom.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.Nil, sum[:]).String()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: at.UTC().Format(time.RFC3339), Component: &self}
	bom.Components = &parts
	var needed []string
	for _, p := range parts {
		needed = append(needed, p.BOMRef)
	}
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: self.BOMRef, Dependencies: &needed}}
	var out bytes.Buffer
	err = cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
	return out.Bytes(), err
}

// component returns a Go module. sum is the hash of go.sum, a SHA-256 over the names
// and hashes of the module's files.
func component(path, version, sum string) cyclonedx.Component {
	ref := "pkg:golang/" + path + "@" + url.PathEscape(version)
	c := cyclonedx.Component{BOMRef: ref, PackageURL: ref, Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version}
	if hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); err == nil && len(hash) == sha256.Size {
		c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(hash)}}
	}
	return c
}

// settings returns how the binary was built.
func settings(info *debug.BuildInfo) *[]cyclonedx.Property {
	var out []cyclonedx.Property
	for _, s := range info.Settings {
		if s.Key != "-ldflags" { // holds the version
			out = append(out, cyclonedx.Property{Name: "go:build:" + s.Key, Value: s.Value})
		}
	}
	return &out
}

// embedded returns the libraries in pages of the viewer, such as htmx of
// htmx-2.0.11.min.js.
func embedded() ([]cyclonedx.Component, error) {
	files, err := filepath.Glob(scripts)
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no scripts are in %s: %v", scripts, err)
	}
	seen := map[string]bool{}
	var out []cyclonedx.Component
	for _, f := range files {
		bare, _, _ := strings.Cut(filepath.Base(f), ".min.")
		name, version, _ := strings.Cut(bare, "-")
		ref := "pkg:generic/" + name + "@" + version
		if version == "" || seen[ref] {
			continue
		}
		seen[ref] = true
		out = append(out, cyclonedx.Component{BOMRef: ref, PackageURL: ref, Type: cyclonedx.ComponentTypeLibrary, Name: name, Version: version})
	}
	return out, nil
}

// scripts is where the viewer's libraries lie, seen from the root of the repository.
var scripts = "pipelines/view/static/*.min.*"
