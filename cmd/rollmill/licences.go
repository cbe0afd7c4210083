package main

import _ "embed"

// licences are the notices that go with a copy of the program: of its modules, of Go
// and of the scripts in pages of view. TestLicences writes them.
//
//go:embed licences.txt
var licences string
