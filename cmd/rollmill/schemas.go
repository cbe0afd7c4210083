package main

import (
	"embed"
	"io/fs"
)

// schemaFiles are the JSON schemas of the messages to and from programs, which
// TestSchemas makes of the Go types.
//
//go:embed doc/schemas/*.json
var schemaFiles embed.FS

func schemas() fs.FS { return folder(schemaFiles, "doc/schemas") }
