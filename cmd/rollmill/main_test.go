package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"rollmill": func() { os.Exit(app().Main()) }, "opencounted": openCounted})
}
