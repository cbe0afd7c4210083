package main

import (
	"embed"
	"io/fs"
)

// guideFiles are the guides: one file each, written by hand but for tested.md, which make docs
// writes. The first line is the title, and the first sentence is what `rollmill help guides`
// lists. Blocks fenced as sh are run by TestGuides, in order, in one empty folder.
//
//go:embed doc/guides/*.md
var guideFiles embed.FS

// schemaFiles are the JSON schemas of the messages to and from programs, which
// TestSchemas makes of the Go types.
//
//go:embed doc/schemas/*.json
var schemaFiles embed.FS

// licences are the notices that go with a copy of the program: of its modules, of Go
// and of the scripts in pages of view. TestLicences writes them.
//
//go:embed licences.txt
var licences string

// folder returns a folder of embedded files.
func folder(files embed.FS, name string) fs.FS {
	sub, err := fs.Sub(files, name)
	if err != nil {
		panic(err) // the name is a constant
	}
	return sub
}
