package main

import (
	"embed"
	"io/fs"
)

// guideFiles are the guides: one file each, written by hand but for tested.md,
// which make docs writes. The first line is the
// title, and the first sentence is what `rollmill help guides` lists. Blocks
// fenced as sh are run by TestGuides, in order, in one empty folder.
//
//go:embed doc/guides/*.md
var guideFiles embed.FS

func guides() fs.FS {
	files, err := fs.Sub(guideFiles, "doc/guides")
	if err != nil {
		panic(err) // the path is a constant
	}
	return files
}
