// Package all lists the backends. To add one: a neighbouring folder with a
// Settings struct and its Kind, a line here, and a call of backendtest.
package all

import (
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/art"
	"github.com/rollmill/rollmill/stages/backends/command"
	"github.com/rollmill/rollmill/stages/backends/customizer"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/backends/tinker"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Backends lists every backend, in the order of the help.
var Backends backends.Registry = plugin.NewRegistry("backend",
	art.Kind,
	openai.Kind,
	customizer.Kind,
	tinker.Kind,
	file.Kind,
	command.Kind,
).Moved(map[string]string{"hub": "push with a program: --backend command --trainer 'python -m rollmill.hub --repo OWNER/NAME'"})
